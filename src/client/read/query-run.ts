import { type Client, QueryNotRegisteredError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { errorMessage } from '../../core/domain/errors/error.ts';
import { retryQueryAfterMs, isRetryableQueryError } from '../../temporal/query-retry.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { sleep } from '../../temporal/waiting.ts';

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

/** Between two executions of a run the server waits up to a second before the first task of the next. */
const SWITCH_PAUSE_MS = 100;

/** How long a query is asked again whose worker had to load the run. Of a run that was ended with events unhandled only the history tells. */
const ASK_AGAIN_FOR_MS = 1_500;

/** The answer of a query to the newest execution, or undefined where no worker answered in time. Throws `run_not_found`. */
export async function queryRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  const handle = client.workflow.getHandle(runId);
  const begun = Date.now();
  const deadline = begun + QUERY_DEADLINE_MS;
  for (let asked = 1; ; asked += 1) {
    try {
      return await client.withDeadline(deadline, () => handle.query<Answer, [unknown]>(query, argument ?? null));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
      if (isSwitching(error) && Date.now() + SWITCH_PAUSE_MS < deadline) await sleep(SWITCH_PAUSE_MS);
      else if (isRetryableQueryError(error) && Date.now() - begun < ASK_AGAIN_FOR_MS) await sleep(retryQueryAfterMs(asked));
      else if (error instanceof QueryNotRegisteredError || UNANSWERED.has(grpcCode(error))) return undefined;
      else throw error;
    }
  }
}

/** The execution has no first task yet. */
function isSwitching(error: unknown): boolean {
  if (grpcCode(error) !== GRPC.failedPrecondition || !(error instanceof Error)) return false;
  return `${error.message} ${errorMessage(error.cause)}`.includes('is not scheduled yet');
}
