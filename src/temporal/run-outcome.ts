import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, TerminatedFailure, TimeoutFailure, WorkflowNotFoundError } from '@temporalio/common';
import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { isRunResult, type RunResultFields } from '../core/domain/result.ts';
import { RESULT_MEMO } from '../core/protocol.ts';

/**
 * Waits until the run closes and returns its result, for every status. Once the run has closed, this needs no worker.
 * Throws `run_not_found`, `run_terminated` and `run_timed_out`.
 */
export async function runOutcome(client: Client, runId: string): Promise<RunResultFields> {
  const handle = client.workflow.getHandle(runId);
  try {
    const result: unknown = await handle.result();
    if (isRunResult(result)) return result;
    throw new LonghaulError('internal', `Workflow "${runId}" closed without a RunResult: is it a run of Longhaul?`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
    if (!(error instanceof WorkflowFailedError)) throw error;
    return resultOfFailure(client, runId, error);
  }
}

/** Returns the error for a run that the namespace does not have. */
export function runNotFound(client: Client, runId: string): LonghaulError {
  return new LonghaulError(
    'run_not_found',
    `Namespace "${client.options.namespace}" has no run "${runId}": "npx longhaul list" shows those it has`,
  );
}

async function resultOfFailure(client: Client, runId: string, { cause }: WorkflowFailedError): Promise<RunResultFields> {
  if (cause instanceof TerminatedFailure) {
    throw new LonghaulError('run_terminated', `Run "${runId}" was terminated by an operator (${cause.message}): it has no result`, {
      cause,
    });
  }
  if (cause instanceof TimeoutFailure) {
    throw new LonghaulError('run_timed_out', `Run "${runId}" was ended by a time-out of its workflow: it has no result`, { cause });
  }
  if (cause instanceof ApplicationFailure) {
    const [details] = cause.details ?? [];
    if (isRunResult(details)) return details;
  }
  const { memo } = await client.workflow.getHandle(runId).describe();
  const kept = memo?.[RESULT_MEMO];
  if (isRunResult(kept)) return kept;
  throw new LonghaulError('internal', `Run "${runId}" closed without a RunResult: ${errorMessage(cause)}`, { cause });
}
