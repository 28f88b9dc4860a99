import { type Client, QueryNotRegisteredError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { GRPC, grpcCode } from './grpc-code.ts';
import { runNotFound } from './run-outcome.ts';

/** A query needs a worker, and hangs without one: this is how long it is given before history is read instead. */
const QUERY_DEADLINE_MS = 3_000;

/** Deadline passed, no poller seen, too many queries at once, or the first task still to come: all pass with a worker. */
const UNANSWERED = new Set<number | undefined>([
  GRPC.cancelled,
  GRPC.deadlineExceeded,
  GRPC.resourceExhausted,
  GRPC.failedPrecondition,
  GRPC.unavailable,
]);

/** The answer of a query, or undefined where no worker answered in time. Throws `run_not_found`. */
export async function queryRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  const handle = client.workflow.getHandle(runId);
  try {
    return await client.withDeadline(Date.now() + QUERY_DEADLINE_MS, () => handle.query<Answer, [unknown]>(query, argument ?? null));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
    if (error instanceof QueryNotRegisteredError || UNANSWERED.has(grpcCode(error))) return undefined;
    throw error;
  }
}
