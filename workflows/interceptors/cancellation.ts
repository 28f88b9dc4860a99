import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * The reason of the cancellation. The SDK's workflow API omits the reason of a cancel request, so an interceptor reads
 * it from the activation. Module state belongs to one execution.
 */
let reason: string | undefined;

/** What stands before the reason if another workflow has cancelled this one. The SDK gives no reason then. */
const BY_WORKFLOW = /^Cancel requested by workflow with run id \S+ with reason: /;

/** Returns the reason of the cancellation, if the caller gave one. */
export function cancelReason(): string | undefined {
  return reason?.replace(BY_WORKFLOW, '') || undefined;
}

/** True if another workflow has cancelled this one. */
export function isCancelledByWorkflow(): boolean {
  return reason !== undefined && BY_WORKFLOW.test(reason);
}

/** Registered by the worker as a workflow module. In a bundle without it, only the reason is missing. */
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
