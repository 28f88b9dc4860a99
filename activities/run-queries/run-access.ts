import { activityInfo, getClient } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryQueryAfterMs, isRetryableQueryError } from '../../src/temporal/query-retry.ts';
import { GRPC, grpcCode } from '../../src/temporal/grpc-code.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { type OfRun, type QueryingActivity, scopedName } from '../../src/core/protocol.ts';

/**
 * How long each attempt of a query may take. A busy workflow task delays it without an error; where the server sheds what
 * others say to the run, it loses the query and never answers: then the next attempt is what helps, and should come soon.
 */
const QUERY_DEADLINES_MS = [1_000, 2_000, 5_000, 5_000, 5_000];
const PAUSE_MS = 50;

/** How long a query is asked again whose worker had to load the run. */
const ASK_AGAIN_FOR_MS = 10_000;

/** No answer in time (of two kinds), no poller seen yet, the first task not scheduled yet, too much at once: all pass. */
const PASSING = new Set<number | undefined>([
  GRPC.cancelled,
  GRPC.deadlineExceeded,
  GRPC.resourceExhausted,
  GRPC.failedPrecondition,
  GRPC.unavailable,
]);

/** Which run the current activity belongs to. */
export interface RunKey {
  /** The run, whatever its execution: `namespace/workflowId`, and the key of a run inside a workflow of the user. */
  chain: string;
  /** One execution of it. */
  execution: string;
}

/** Identifies the run that the current activity belongs to. */
export function runKey({ run }: OfRun): RunKey {
  const { workflowExecution, workflowNamespace } = activityInfo();
  const chain = [workflowNamespace, workflowExecution?.workflowId, ...(run === undefined ? [] : [run])].join('/');
  return { chain, execution: `${chain}@${workflowExecution?.runId}` };
}

/** The id of the run that the current activity belongs to: of its workflow, with its key behind where it is inside a workflow of the user. */
export function runIdOf({ run }: OfRun): string {
  const workflowId = activityInfo().workflowExecution?.workflowId ?? '';
  return run === undefined ? workflowId : `${workflowId}/${run}`;
}

/** The workflow execution that the current activity belongs to: `namespace/workflowId/runId`. */
export function executionKey(): string {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return [workflowNamespace, workflowExecution?.workflowId, workflowExecution?.runId].join('/');
}

/**
 * Asks the run that the current activity belongs to. The execution is named by its run id: another one of the
 * same workflow id has other content. Throws `transcript_unavailable` (retryable) where the run does not answer.
 */
export async function queryRun<Answer>({ run }: OfRun, query: string, argument: unknown): Promise<Answer> {
  const name = scopedName(query, run);
  const { workflowExecution, activityId } = activityInfo();
  const client = getClient();
  const handle = client.workflow.getHandle(workflowExecution?.workflowId ?? '', workflowExecution?.runId);
  const ask = (): Promise<Answer> => handle.query<Answer, [unknown, QueryingActivity]>(name, argument, { activityId });
  let last: unknown;
  for (const [retry, deadlineMs] of QUERY_DEADLINES_MS.entries()) {
    try {
      return await client.withDeadline(Date.now() + deadlineMs, () => untilAnswered(ask));
    } catch (error) {
      last = error;
      if (!PASSING.has(grpcCode(error))) break;
      await sleep(PAUSE_MS * (retry + 1));
    }
  }
  throw ApplicationFailure.create({
    type: 'transcript_unavailable',
    message: `The run did not answer the query "${name}": ${whyOf(last)}`,
  });
}

/** Asks again as long as the worker that was asked has to load the run first. */
async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const begun = Date.now();
  for (let asked = 1; ; asked += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isRetryableQueryError(error) || Date.now() - begun > ASK_AGAIN_FOR_MS) throw error;
      await sleep(retryQueryAfterMs(asked));
    }
  }
}

/** The SDK wraps what the server said in an error that says no more than what failed. */
function whyOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `${error.message} (${errorMessage(error.cause)})` : errorMessage(error);
}
