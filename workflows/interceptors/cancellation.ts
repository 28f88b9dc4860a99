import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Why the run is being cancelled. The SDK's workflow API leaves the reason of a cancel request out, so an interceptor
 * reads it from the activation. Module state belongs to one execution.
 */
let reason: string | undefined;

/** Why the run is being cancelled, where whoever asked said so. */
export function cancelReason(): string | undefined {
  return reason;
}

/** Registered by the worker as a workflow module. A bundle built without it works, and loses the reason. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      activate(input, next) {
        for (const job of input.activation.jobs ?? []) {
          if (job.cancelWorkflow?.reason) reason = job.cancelWorkflow.reason;
        }
        next(input);
      },
    },
  ],
});
