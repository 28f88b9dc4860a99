import type { Client } from '@temporalio/client';
import { executionChain, executionHistory, type HistoryEvent } from '../../src/history/history-events.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { measureHistory } from '../figures/encoded-history.ts';

/** The histories of a session. */
export interface SessionHistories {
  /** Events and bytes of each execution, the oldest first. */
  executions: { events: number; bytes: number }[];
  /** Bytes of each turn: from the scheduling of its model call to the scheduling of the next one. */
  turnBytes: number[];
  /** The number of model calls that summarized the older part of the conversation. */
  summaries: number;
}

/** Measures the histories of all executions of a session. Throws if the server has removed some. */
export async function weighSession(client: Client, sessionId: string): Promise<SessionHistories> {
  const { runId } = await client.workflow.getHandle(sessionId).describe();
  const { executionIds, complete } = await executionChain(client, sessionId, runId);
  if (!complete) throw new Error(`The server has removed executions of session "${sessionId}"`);
  const all: HistoryEvent[] = [];
  const executions: SessionHistories['executions'] = [];
  for (const executionId of executionIds) {
    const { events: history } = await executionHistory(client, sessionId, executionId);
    const { events, bytes } = measureHistory(history, ACTIVITIES.callModel);
    executions.push({ events, bytes });
    all.push(...history);
  }
  const { stepBytes, answerBytes } = measureHistory(all, ACTIVITIES.callModel);
  const summaries = all.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === ACTIVITIES.summarize);
  return { executions, turnBytes: [...stepBytes, answerBytes], summaries: summaries.length };
}
