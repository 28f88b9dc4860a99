import type { Client } from '@temporalio/client';
import { sessionOf } from '../core/domain/sessions.ts';
import { describeRun } from '../temporal/run-workflow.ts';
import { type RunTrace, traceOfChild, traceOfStart, traceOfTurn } from '../telemetry/ids.ts';
import { executionBeginning } from './execution-reader.ts';
import { readExecution } from './read-run.ts';

/** An execution of a workflow, and a run of it. */
export interface TracedExecution {
  workflowId: string;
  /** Temporal's run id. Absent: the newest execution. */
  executionId?: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  /** The offset of an event, if its turn is asked for. Absent: the place is that of the run as a whole. */
  offset?: number;
}

/** Finds the place of a run in its trace. */
type FindTrace = (client: Client, execution: TracedExecution) => Promise<RunTrace | undefined>;

/**
 * Finds the place of a run in its trace: what it needs is in the first events of its executions, and of those of the runs above it, whose
 * places `findParent` finds. Undefined if the server does not have one of them any more.
 */
export async function findTrace(
  client: Client,
  { workflowId, executionId, key, offset }: TracedExecution,
  findParent: FindTrace = findTrace,
): Promise<RunTrace | undefined> {
  const beginning = await executionBeginning(client, workflowId, executionId);
  const firstExecutionId = beginning?.firstExecutionId;
  if (beginning === undefined || firstExecutionId === undefined) return undefined;
  const run = { namespace: client.options.namespace, runId: key === '' ? workflowId : `${workflowId}/${key}`, firstExecutionId };
  // The input is that of a workflow of the user.
  if (key !== '') return traceOfStart(run, undefined);
  // An execution that continues another one has no start of its own.
  const first = beginning.before === undefined ? beginning : await executionBeginning(client, workflowId, firstExecutionId);
  // A session may outlive its first execution. Of its turns, only the first is in the trace of the caller.
  const start = first ?? (beginning.isSession ? beginning : undefined);
  if (start === undefined) return undefined;
  const { parentRunId, parentFirstId, traceparent, isSession } = start;
  if (parentRunId !== undefined && parentFirstId !== undefined) {
    const above = { workflowId: parentRunId, executionId: parentFirstId, key: '' };
    const whole = await findParent(client, above);
    const parent = whole?.isSession ? await findParent(client, { ...above, offset: offsetOfCall(workflowId) }) : whole;
    return parent === undefined ? undefined : traceOfChild(run, parent);
  }
  const trace = traceOfStart(run, traceparent);
  if (!isSession) return trace;
  const session: RunTrace = { ...trace, isSession };
  if (offset === undefined) return session;
  const turn = await turnAt(client, { runId: workflowId, firstExecutionId, offset });
  return turn === undefined ? undefined : traceOfTurn(session, turn);
}

/** Returns the offset of the event with the call that has started a child: the id of the child ends with its position. */
function offsetOfCall(childRunId: string): number {
  const { offset } = /\.(?<offset>\d+)\.\d+\.[^.]+$/.exec(childRunId)?.groups ?? {};
  return Number(offset ?? 0);
}

/** Returns the turn of a session to which the event at an offset belongs. Undefined if the server does not have that event any more. */
async function turnAt(
  client: Client,
  { runId, firstExecutionId, offset }: { runId: string; firstExecutionId: string; offset: number },
): Promise<number | undefined> {
  let executionId = (await describeRun(client, runId)).runId;
  for (;;) {
    const beginning = await executionBeginning(client, runId, executionId);
    if (beginning?.firstExecutionId !== firstExecutionId) return undefined;
    const { before, continuedState } = beginning;
    if (before === undefined || offset >= (continuedState?.window.through ?? 0)) break;
    executionId = before;
  }
  const read = await readExecution(client, runId, executionId);
  const later = read?.events.slice(Math.max(0, offset - read.firstOffset));
  return later?.find(({ turn }) => turn !== undefined)?.turn?.number ?? sessionOf(read?.run.state ?? {})?.turns;
}
