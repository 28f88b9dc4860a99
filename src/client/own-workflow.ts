import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { isJsonObject } from '../core/domain/json.ts';
import { AGENT_RUN } from '../core/protocol.ts';
import { executionChain, type HistoryEvent, runHistory } from '../history/history-events.ts';
import { describeRun } from '../temporal/run-workflow.ts';

/** The status of a child run according to its parent workflow. A `failed` run ended with an error or was ended from outside. */
type ChildRunStatus = 'running' | 'completed' | 'failed' | 'cancelled' | 'not_started';

/** The run of an agent, started by a workflow of the user. */
interface ChildRun {
  runId: string;
  /** Undefined if its input cannot be read. */
  agentName: string | undefined;
  status: ChildRunStatus;
}

/** A workflow of the user, with the agent runs that it started. */
export interface OwnWorkflow {
  workflowId: string;
  workflowType: string;
  /** Temporal's name of the status, such as `RUNNING`. */
  status: string;
  /** ISO 8601. */
  startTime: string;
  endTime: string | null;
  /** The child runs in the order in which they were started, across the executions that the server has. */
  childRuns: ChildRun[];
}

/** Reads a workflow of the user. Needs no worker. Throws `run_not_found`. */
export async function readOwnWorkflow(client: Client, workflowId: string): Promise<OwnWorkflow> {
  const { type, status, startTime, closeTime, runId } = await describeRun(client, workflowId);
  const children = new Map<string, ChildRun>();
  for (const executionId of (await executionChain(client, workflowId, runId)).executionIds) {
    for await (const event of runHistory(client, workflowId, executionId)) await readChild(client, children, event);
  }
  return {
    workflowId,
    workflowType: type,
    status: status.name,
    startTime: startTime.toISOString(),
    endTime: closeTime?.toISOString() ?? null,
    childRuns: [...children.values()],
  };
}

async function readChild(client: Client, children: Map<string, ChildRun>, event: HistoryEvent): Promise<void> {
  const initiated = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (initiated?.workflowType?.name === AGENT_RUN) {
    const runId = initiated.workflowId ?? '';
    children.set(runId, { runId, agentName: await agentOf(client, initiated.input?.payloads), status: 'running' });
    return;
  }
  const failed = event.startChildWorkflowExecutionFailedEventAttributes;
  const ended = ENDINGS.find(([field]) => event[field]);
  const runId = failed?.workflowId ?? (ended === undefined ? undefined : event[ended[0]]?.workflowExecution?.workflowId);
  const child = children.get(runId ?? '');
  if (child !== undefined) child.status = ended?.[1] ?? 'not_started';
}

const ENDINGS = [
  ['childWorkflowExecutionCompletedEventAttributes', 'completed'],
  ['childWorkflowExecutionFailedEventAttributes', 'failed'],
  ['childWorkflowExecutionTimedOutEventAttributes', 'failed'],
  ['childWorkflowExecutionTerminatedEventAttributes', 'failed'],
  ['childWorkflowExecutionCanceledEventAttributes', 'cancelled'],
] as const satisfies readonly (readonly [keyof HistoryEvent, ChildRunStatus])[];

/** Returns the name of the agent; undefined if the input cannot be decoded, for example without the encryption key. */
async function agentOf(client: Client, payloads: object[] | null | undefined): Promise<string | undefined> {
  try {
    const [input] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads);
    return isJsonObject(input) && typeof input['agent'] === 'string' ? input['agent'] : undefined;
  } catch {
    return undefined;
  }
}
