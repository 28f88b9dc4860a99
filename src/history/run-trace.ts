import type { Client } from '@temporalio/client';
import { type RunTrace, traceOfChild, traceOfStart } from '../telemetry/ids.ts';
import { executionBeginning } from './execution-reader.ts';

/** An execution of a workflow, and a run of it. */
export interface TracedExecution {
  workflowId: string;
  /** Temporal's run id. Absent: the newest execution. */
  executionId?: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
}

/** Finds the place of a run in its trace. */
export type FindTrace = (client: Client, execution: TracedExecution) => Promise<RunTrace | undefined>;

/**
 * Finds the place of a run in its trace: what it needs is in the first events of its executions, and of those of the runs above it, whose
 * places `findParent` finds. Undefined if the server does not have one of them any more.
 */
export async function findTrace(
  client: Client,
  { workflowId, executionId, key }: TracedExecution,
  findParent: FindTrace = findTrace,
): Promise<RunTrace | undefined> {
  const beginning = await executionBeginning(client, workflowId, executionId);
  const firstExecutionId = beginning?.firstExecutionId;
  if (beginning === undefined || firstExecutionId === undefined) return undefined;
  const run = { namespace: client.options.namespace, runId: key === '' ? workflowId : `${workflowId}/${key}`, firstExecutionId };
  // The input is that of a workflow of the user.
  if (key !== '') return traceOfStart(run, undefined);
  // An execution that continues another one has no start of its own.
  const start = beginning.before === undefined ? beginning : await executionBeginning(client, workflowId, firstExecutionId);
  if (start === undefined) return undefined;
  const { parentRunId, parentFirstId, traceparent } = start;
  if (parentRunId === undefined || parentFirstId === undefined) return traceOfStart(run, traceparent);
  const parent = await findParent(client, { workflowId: parentRunId, executionId: parentFirstId, key: '' });
  return parent === undefined ? undefined : traceOfChild(run, parent);
}
