import { activityInfo, getClient } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryQueryAfterMs, isRetryableQueryError } from '../../src/temporal/query-retry.ts';
import { isUnanswered } from '../../src/temporal/grpc-code.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { type OfRun, type QueryingActivity, scopedName } from '../../src/core/protocol.ts';

/**
 * The time limit of each attempt of a query. A busy workflow task delays the answer without an error. If the server
 * sheds load from this run, it drops the query and never answers: then the next attempt helps, and should come soon.
 */
const QUERY_DEADLINES_MS = [1_000, 2_000, 5_000, 5_000, 5_000];
const PAUSE_MS = 50;

/** The time for which a query is repeated while the worker that received it loads the run. */
const REPEAT_FOR_MS = 10_000;

/** The run that the current activity belongs to. */
export interface RunKey {
  /** The run across its executions: `namespace/workflowId`, and the key of a run inside a workflow of the user. */
  chain: string;
  /** One execution of the run. */
  execution: string;
}

/** Identifies the run that the current activity belongs to. */
export function runKey({ run = '' }: OfRun): RunKey {
  const { workflowExecution: { workflowId = '', runId = '' } = {}, workflowNamespace: namespace = '' } = activityInfo();
  return keyOfRun({ namespace, workflowId, runId, key: run });
}

/** Identifies a run. `key` is that of a run inside a workflow of the user, or empty. */
export function keyOfRun(run: { namespace: string; workflowId: string; runId: string; key: string }): RunKey {
  const chain = [run.namespace, run.workflowId, ...(run.key === '' ? [] : [run.key])].join('/');
  return { chain, execution: `${chain}@${run.runId}` };
}

/**
 * Returns the id of the run that the current activity belongs to: its workflow id, followed by its key if it runs
 * inside a workflow of the user.
 */
export function runIdOf({ run }: OfRun): string {
  const workflowId = activityInfo().workflowExecution?.workflowId ?? '';
  return run === undefined ? workflowId : `${workflowId}/${run}`;
}

/** Returns the workflow execution that the current activity belongs to: `namespace/workflowId/runId`. */
export function executionKey(): string {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return [workflowNamespace, workflowExecution?.workflowId, workflowExecution?.runId].join('/');
}

/**
 * Queries the run that the current activity belongs to. The query names the execution by its run id: another execution
 * of the same workflow id has other content. Throws `transcript_unavailable` (retryable) if the run does not answer.
 */
export async function queryRun<Answer>({ run }: OfRun, query: string, argument: unknown): Promise<Answer> {
  const name = scopedName(query, run);
  const { workflowExecution, activityId } = activityInfo();
  const handle = getClient().workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
  return queryHandle(name, () => handle.query<Answer, [unknown, QueryingActivity]>(name, argument, { activityId }));
}

/** Sends a query to a run, again and again for a bounded time. Throws `transcript_unavailable` (retryable) if the run does not answer. */
export async function queryHandle<Answer>(name: string, ask: () => Promise<Answer>): Promise<Answer> {
  const client = getClient();
  let last: unknown;
  for (const [retry, deadlineMs] of QUERY_DEADLINES_MS.entries()) {
    try {
      return await client.withDeadline(Date.now() + deadlineMs, () => untilAnswered(ask));
    } catch (error) {
      last = error;
      if (!isUnanswered(error)) break;
      await sleep(PAUSE_MS * (retry + 1));
    }
  }
  throw ApplicationFailure.create({
    type: 'transcript_unavailable',
    message: `The run did not answer the query "${name}": ${errorWithCause(last)}`,
  });
}

/** Repeats the query while the worker that received it has to load the run. */
async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const begun = Date.now();
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isRetryableQueryError(error) || Date.now() - begun > REPEAT_FOR_MS) throw error;
      await sleep(retryQueryAfterMs(tries));
    }
  }
}

/** Adds the cause to the message: the SDK's own error says only which call failed. */
function errorWithCause(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `${error.message} (${errorMessage(error.cause)})` : errorMessage(error);
}
