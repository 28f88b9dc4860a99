import type { LonghaulClient } from '../../src/client/index.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { type HistoryEvent, runHistory } from '../../src/history/history-events.ts';
import { measureHistory } from '../figures/encoded-history.ts';
import { median } from '../figures/statistics.ts';
import { completed, readTokens, startScript } from './stream-run.ts';

/** The events and bytes that a sink and a reader add to the history of a run. */
export interface AddedHistory {
  eventsAdded: number;
  historyBytesAdded: number;
}

const SCRIPT = { steps: 3, tokens: 50, rate: 0, phaseMs: 0 };
const ROUNDS = 5;

/** Compares the histories of the same script with a sink and a reader, and without either. */
export async function measureAdded(client: LonghaulClient): Promise<AddedHistory> {
  const added: { events: number; bytes: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const plain = await startScript(client, `plain-${round}`, SCRIPT, 'without');
    await completed(plain);
    const streamed = await startScript(client, `sinks-${round}`, SCRIPT, 'with');
    await Promise.all([completed(streamed), readTokens(streamed)]);
    const [before, after] = [await weigh(client, plain.runId), await weigh(client, streamed.runId)];
    added.push({ events: after.events - before.events, bytes: after.bytes - before.bytes });
  }
  return { eventsAdded: median(added.map(({ events }) => events)), historyBytesAdded: median(added.map(({ bytes }) => bytes)) };
}

async function weigh(client: LonghaulClient, runId: string): Promise<{ events: number; bytes: number }> {
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(client.temporal, runId)) events.push(comparable(event));
  return measureHistory(events, ACTIVITIES.callModel);
}

/** Returns an event without the numbers whose length differs from run to run: times, and those that the server counts. */
function comparable(event: HistoryEvent): HistoryEvent {
  const started = event.workflowTaskStartedEventAttributes;
  return {
    ...event,
    eventTime: null,
    taskId: null,
    ...(started ? { workflowTaskStartedEventAttributes: { ...started, historySizeBytes: null } } : {}),
  };
}
