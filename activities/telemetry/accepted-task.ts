import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { type HistoryEvent, isClose, newestEvents } from '../../src/history/history-events.ts';
import { sleep } from '../../src/temporal/waiting.ts';
import { withinAnswer } from './run-traces.ts';

/** A workflow task that a worker has executed, and whose completion the server may not have accepted. */
export interface CarriedOutTask {
  workflowId: string;
  /** Temporal's run id. */
  executionId: string;
  /** The number of events that the task has seen, ending with its own start event. */
  historyLength: number;
  /** The time in the workflow, in milliseconds since the epoch. It distinguishes attempts, whose events have the same numbers. */
  at: number;
}

/** The waits before each poll of the server, in milliseconds. Together they exceed the timeout of a task, which is ten seconds. */
const LOOKS_AFTER_MS = [100, 400, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Waits until the server has accepted or refused a workflow task: a task is executed again if its worker dies, or if a message arrives
 * while it ends the run. It may then have another outcome, at another time. Undefined if the server does not answer in time. `hurried`: the
 * process is ending, and polls at most once more.
 */
export async function isAccepted(
  client: Client,
  task: CarriedOutTask,
  { hurried }: { hurried: AbortSignal },
): Promise<boolean | undefined> {
  for (const ms of LOOKS_AFTER_MS) {
    const isLast = hurried.aborted;
    if (!isLast) await sleep(ms, hurried).catch(() => undefined);
    const outcome = await withinAnswer(client, () => outcomeOf(client, task));
    if (outcome === 'accepted' || outcome === 'refused') return outcome === 'accepted';
    if (isLast) break;
  }
  return undefined;
}

/** Returns the outcome of a task, from the newest events of its execution. */
async function outcomeOf(client: Client, task: CarriedOutTask): Promise<'accepted' | 'refused' | 'open'> {
  let isNewest = true;
  let hasClosed = false;
  let isCompleted = false;
  for await (const event of newestEvents(client, task.workflowId, task.executionId)) {
    const id = Number(event.eventId);
    if (isNewest) hasClosed = isClose(event) || event.workflowExecutionContinuedAsNewEventAttributes != null;
    isNewest = false;
    if (id > task.historyLength) {
      isCompleted ||= Number(event.workflowTaskCompletedEventAttributes?.startedEventId ?? 0) === task.historyLength;
      if (hasFailed(event, task.historyLength)) return 'refused';
      continue;
    }
    // The events of a repeated attempt are written at its end.
    if (id < task.historyLength) return hasClosed ? 'refused' : 'open';
    if (event.workflowTaskStartedEventAttributes == null) return 'refused';
    if (!isCompleted) return hasClosed ? 'refused' : 'open';
    // A workflow's clock starts with its task, and local calls advance it.
    return (optionalTsToMs(event.eventTime) ?? 0) <= task.at ? 'accepted' : 'refused';
  }
  return 'open';
}

function hasFailed(
  { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: late }: HistoryEvent,
  id: number,
): boolean {
  return Number((failed ?? late)?.startedEventId ?? 0) === id;
}
