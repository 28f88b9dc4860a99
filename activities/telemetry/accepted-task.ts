import type { Client } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import { type HistoryEvent, isClose, newestEvents } from '../../src/history/history-events.ts';
import { sleep } from '../../src/temporal/waiting.ts';
import { withinAnswer } from './run-traces.ts';

/** A workflow task that a worker has carried out, and whose end the server may not have accepted. */
export interface CarriedOutTask {
  workflowId: string;
  /** Temporal's run id. */
  executionId: string;
  /** The number of events that the task has seen: the last one is its start. */
  historyLength: number;
  /** The time in the workflow, in milliseconds since the epoch. It tells attempts apart, whose events have the same numbers. */
  at: number;
}

/** How long the server is left alone before each look, in milliseconds. Together longer than a task takes to time out, which is ten seconds. */
const LOOKS_AFTER_MS = [100, 400, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Waits until the server has accepted a workflow task, or refused it: a task is carried out again if its worker dies, and if a message arrives
 * while it ends the run. It may then have another outcome, at another time. Undefined if the server does not say it in time.
 * `hurried`: the process ends, and looks once more at most.
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

/** Returns what the newest events of an execution say of a task. */
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
    // The events of an attempt after the first are written at its end.
    if (id < task.historyLength) return hasClosed ? 'refused' : 'open';
    if (event.workflowTaskStartedEventAttributes == null) return 'refused';
    if (!isCompleted) return hasClosed ? 'refused' : 'open';
    // The clock of a workflow begins with its task, and local calls move it on.
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
