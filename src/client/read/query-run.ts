import { type Client, QueryNotRegisteredError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { errorMessage } from '../../core/domain/errors.ts';
import { retryQueryAfterMs, isRetryableQueryError } from '../../temporal/query-retry.ts';
import { GRPC, grpcCode, isUnanswered } from '../../temporal/grpc-code.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { sleep } from '../../temporal/waiting.ts';

/** The time limit of a query, after which history is read instead: without a worker a query does not return. */
const QUERY_DEADLINE_MS = 3_000;

/** The pause between two attempts while the server waits, up to a second, before the first task of the next execution. */
const SWITCH_PAUSE_MS = 100;

/** The time for which a query is sent again whose worker had to load the run. If a run was ended with unhandled events, only its history has them. */
const ASK_AGAIN_FOR_MS = 1_500;

/** Returns the answer of a query to the newest execution, or undefined if no worker answered in time. Throws `run_not_found`. */
export function queryRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  return ask(client, runId, { query, argument, askAgainForMs: ASK_AGAIN_FOR_MS });
}

/** Returns the answer of a query, or undefined as well if the worker had to load the run and asks for a second query. Throws `run_not_found`. */
export function queryLoadedRun<Answer>(client: Client, runId: string, query: string, argument?: unknown): Promise<Answer | undefined> {
  return ask(client, runId, { query, argument, askAgainForMs: 0 });
}

interface Asked {
  query: string;
  argument: unknown;
  askAgainForMs: number;
}

async function ask<Answer>(client: Client, runId: string, { query, argument, askAgainForMs }: Asked): Promise<Answer | undefined> {
  const handle = client.workflow.getHandle(runId);
  const begun = Date.now();
  const deadline = begun + QUERY_DEADLINE_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.withDeadline(deadline, () => handle.query<Answer, [unknown]>(query, argument ?? null));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
      if (isSwitching(error) && Date.now() + SWITCH_PAUSE_MS < deadline) await sleep(SWITCH_PAUSE_MS);
      else if (isQueryUnderWay(error) && Date.now() < deadline) await sleep(retryQueryAfterMs(attempt));
      else if (isRetryableQueryError(error) && Date.now() - begun < askAgainForMs) await sleep(retryQueryAfterMs(attempt));
      else if (error instanceof QueryNotRegisteredError || isUnanswered(error)) return undefined;
      else throw error;
    }
  }
}

/** True if the server refused the query because another one waits for the same workflow task. */
function isQueryUnderWay(error: unknown): boolean {
  return grpcCode(error) === GRPC.resourceExhausted;
}

/** True if the execution has no first task yet. */
function isSwitching(error: unknown): boolean {
  if (grpcCode(error) !== GRPC.failedPrecondition || !(error instanceof Error)) return false;
  return `${error.message} ${errorMessage(error.cause)}`.includes('is not scheduled yet');
}
