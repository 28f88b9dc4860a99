import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { withCallTimeout } from './call-timeout.ts';
import { GRPC } from './grpc-code.ts';

/** An interceptor that retries calls on a connection, as a Temporal Connection takes it. */
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
 * Retries calls on a connection as the SDK does, except Updates that the server rejects under load. The sender of an
 * Update retries it, because then all Updates to a run must slow down, and the SDK knows only one of them. Every call
 * has a deadline.
 */
export const UPDATE_RETRY: Interceptor[] = [
  (call, next) => (call.method_definition.path.endsWith(UPDATE) ? updates : usual)(withCallTimeout(call), next),
];
