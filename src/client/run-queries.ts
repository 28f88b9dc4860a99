import { type Client, isGrpcServiceError, QueryNotRegisteredError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { runNotFound } from './run-outcome.ts';

/** A query needs a worker, and hangs without one: this is how long it is given before history is read instead. */
const QUERY_DEADLINE_MS = 3_000;

/** The answer of a query, or undefined where no worker answered in time. Throws `run_not_found`. */
export async function queryRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  const handle = client.workflow.getHandle(runId);
  try {
    return await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () => handle.query<Answer, [unknown]>(query, argument ?? null));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
    if (error instanceof QueryNotRegisteredError || isUnanswered(error)) return undefined;
    throw error;
  }
}

/** Deadline passed, no poller seen, too many queries at once, or the first task still to come: all pass with a worker. */
function isUnanswered(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return isGrpcServiceError(cause) && [1, 4, 8, 9, 14].includes(cause.code);
}
