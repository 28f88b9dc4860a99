import { defaultPayloadConverter } from '@temporalio/common';
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { RunResultFields } from '../src/domain/run-result.ts';

/**
 * What the SDK's workflow API leaves out about a cancellation: the reason of the request on the way in, and the
 * result of the run on the way out (the close of a cancelled workflow has details that only the command itself
 * carries). Both pass through the interceptor below; module state belongs to one execution.
 */
let reason: string | undefined;
let closingResult: RunResultFields | undefined;

/** Why the run is being cancelled, where whoever asked said so. */
export function cancelReason(): string | undefined {
  return reason;
}

/** Attaches the result to the close of a cancelled run, for the workflow that started it. */
export function closeCancelledWith(result: RunResultFields): void {
  closingResult = result;
}

/** Registered by the worker as a workflow module. A bundle built without it works, and loses these two. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      activate(input, next) {
        for (const job of input.activation.jobs ?? []) {
          if (job.cancelWorkflow?.reason) reason = job.cancelWorkflow.reason;
        }
        next(input);
      },
      concludeActivation(input, next) {
        for (const command of input.commands) {
          if (command.cancelWorkflowExecution && closingResult !== undefined) {
            command.cancelWorkflowExecution.details = { payloads: [defaultPayloadConverter.toPayload(closingResult)] };
          }
        }
        return next(input);
      },
    },
  ],
});
