import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { withCallTimeout } from './call-timeout.ts';
import { GRPC } from './grpc-code.ts';
import { patienceMs } from './patience.ts';
import { retriesUntilClosed } from './retries-until-closed.ts';

/** An interceptor that retries calls on a connection, as a Temporal Connection takes it. */
type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

const options = defaultGrpcRetryOptions();
const usual = makeGrpcRetryInterceptor(options);

/** Refusals that the sender of a call retries itself, by the method. */
const LEFT_TO_SENDERS: readonly [method: string, codes: ReadonlySet<number>][] = [
  // All Updates to a run must slow down under load, and the SDK knows only one of them.
  ['/UpdateWorkflowExecution', new Set([GRPC.resourceExhausted, GRPC.unavailable])],
  // The server refuses a second query of a run during a workflow task. That takes milliseconds, and the SDK would wait for seconds.
  ['/QueryWorkflow', new Set([GRPC.resourceExhausted])],
];

const ofSenders = LEFT_TO_SENDERS.map(([method, codes]) => {
  const retryableDecider: typeof options.retryableDecider = (attempt, status) =>
    !codes.has(status.code) && options.retryableDecider(attempt, status);
  return { method, retryableDecider, retry: makeGrpcRetryInterceptor({ ...options, retryableDecider }) };
});

/**
 * Retries calls on a connection as the SDK does, except those whose senders do so: Updates that the server rejects under load, and queries
 * while another one is under way. Every call has a deadline, and ends if the connection is closed before its next attempt.
 */
export const CALL_RETRY: Interceptor[] = [
  (call, next) => {
    const own = ofSenders.find(({ method }) => call.method_definition.path.endsWith(method));
    const ms = patienceMs();
    const retry = ms === undefined ? (own?.retry ?? usual) : retryFor(ms, own?.retryableDecider ?? options.retryableDecider);
    return retry(withCallTimeout(call), retriesUntilClosed(next));
  },
];

/** Returns an interceptor for one call, whose last attempt is at most this many milliseconds after now. */
function retryFor(ms: number, retryableDecider: typeof options.retryableDecider): Interceptor {
  const until = Date.now() + ms;
  return makeGrpcRetryInterceptor({
    delayFunction: (attempt, status) => Math.min(options.delayFunction(attempt, status), Math.max(0, until - Date.now())),
    retryableDecider: (attempt, status) => Date.now() < until && retryableDecider(attempt, status),
  });
}
