import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { withCallTimeout } from './call-timeout.ts';
import { GRPC } from './grpc-code.ts';

/** How calls on a connection are tried again, as a Temporal Connection takes it. */
type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

const UPDATE = '/UpdateWorkflowExecution';
const SHED = new Set<number>([GRPC.resourceExhausted, GRPC.unavailable]);

const options = defaultGrpcRetryOptions();
const usual = makeGrpcRetryInterceptor(options);
const updates = makeGrpcRetryInterceptor({
  ...options,
  retryableDecider: (attempt, status) => !SHED.has(status.code) && options.retryableDecider(attempt, status),
});

/**
 * What a connection of Longhaul tries again by itself: everything as the SDK does, but for Updates that the server sheds.
 * Whoever sends those sees to it, since all Updates to a run have to slow down then, and the SDK knows of one alone.
 * No call is waited for without end.
 */
export const UPDATE_RETRY: Interceptor[] = [
  (call, next) => (call.method_definition.path.endsWith(UPDATE) ? updates : usual)(withCallTimeout(call), next),
];
