import type { Client } from '@temporalio/client';
import { requireKnown, wholeNumber } from '../../define/options/option-checks.ts';
import { errorCode, errorMessage, LonghaulError } from '../../core/domain/errors/error.ts';
import { type RetryPoints, retryPoints } from './retry-points.ts';
import { retriedStep } from './retried-step.ts';
import { RunChain } from '../read/chain.ts';
import { runHistory } from '../../history/history-events.ts';
import { updateRun } from '../updates/update.ts';

/** The options of a retry. */
export interface RetryOptions {
  /** The step whose model call is made again, 1-based. Default: the last step that the run asked the model for. */
  fromStep?: number;
}

/** The result of a retry. */
export interface RetryReceipt {
  runId: string;
  /** The step that the run goes on from. 1-based. */
  fromStep: number;
  /** Temporal's run id of the execution that goes on. */
  executionId: string;
  /** Names of the Updates and Signals that came after that point, in order. Their content is no longer part of the run. */
  dropped: string[];
}

/** Temporal's names by their numbers: `RESET_REAPPLY_TYPE_NONE`, and exclude types for Signals, Updates and cancellations. */
const REAPPLY_NOTHING = { resetReapplyType: 2, resetReapplyExcludeTypes: [1, 2, 4] };

/**
 * Lets a run that has ended go on from a step: Temporal resets its newest execution to the workflow task that asked the
 * model for it. See docs/decisions/retries-are-resets.md. Throws `run_open`, `run_not_found`, `invalid_input` for a step that
 * is not there.
 */
export async function retryRun(client: Client, runId: string, options: RetryOptions): Promise<RetryReceipt> {
  requireKnown('"retry"', options, ['fromStep']);
  if (options.fromStep !== undefined) wholeNumber('retry: "fromStep"', options.fromStep, 1);
  const { executionId: ended, closed } = await new RunChain(client, runId).newest();
  if (!closed) {
    throw new LonghaulError('run_open', `Run "${runId}" is still going on: wait for its end, or cancel it first, and retry it then`);
  }
  const { namespace, loadedDataConverter: converter } = client.options;
  const points = await retryPoints({ runId, executionId: ended, converter }, runHistory(client, runId, ended));
  const { fromStep, task } = retriedStep(runId, points, options);
  const { runId: executionId } = await client.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: runId, runId: ended },
    reason: `retried from step ${fromStep}`,
    workflowTaskFinishEventId: task,
    // The server resets once for each request id: callers that saw the same end get the same execution.
    requestId: `retry ${ended}`,
    ...REAPPLY_NOTHING,
  });
  const after = points.accepted.filter(({ eventId }) => eventId.greaterThan(task));
  const again = after.filter(({ update }) => update?.acceptedIn.equals(task));
  await sendAgain(client, runId, again);
  return { runId, fromStep, executionId, dropped: after.filter((one) => !again.includes(one)).map(({ name }) => name) };
}

/**
 * Sends the Updates that led to the step again: an answer to a question, `resume`. Their events come after the task that
 * accepted them, so a reset to this task drops them.
 */
async function sendAgain(client: Client, runId: string, requests: RetryPoints['accepted']): Promise<void> {
  for (const { name, update } of requests) {
    if (update === undefined) continue;
    const { updateId, argument } = update;
    try {
      await updateRun(client, runId, { name, argument, updateId });
    } catch (error) {
      throw new LonghaulError(
        errorCode(error) ?? 'wait_timeout',
        `Run "${runId}" goes on, but waits for the "${name}" that it had accepted before: send it again (${errorMessage(error)})`,
        { cause: error },
      );
    }
  }
}
