import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient, SessionHandle } from '../../src/client/index.ts';
import { median, rounded } from '../figures/statistics.ts';
import { askSession } from './ask-session.ts';
import { EMPTY_ACTIVITIES, EMPTY_ON_UPDATE } from './empty-protocol.ts';
import { now } from '../figures/machine.ts';
import type { SessionWorker } from './session-worker.ts';

/** The workflows of the comparison are on the task queue of the worker. */
const TASK_QUEUE = 'longhaul';

/** The time after which an idle session is woken. */
const IDLE_MS = 20;

/** The sessions that are woken, and the worker that wakes them. */
export interface Woken {
  client: LonghaulClient;
  worker: SessionWorker;
  session: SessionHandle;
  /** Names the next question of the session. */
  next: () => { id: string; seed: number };
}

/** The figures of waking a session in the worker's cache, next to the figures of empty activities of the SDK. Milliseconds. */
export interface WakeFigures {
  /** From the request of the client to the call of the provider. */
  wakeCachedP50Ms: number;
  /** One empty activity: from its start to the start of the next one in a workflow that does nothing else. */
  emptyActivityP50Ms: number;
  /** From an Update of a client, to a workflow that does nothing else, to the start of an empty activity. */
  emptyUpdateP50Ms: number;
}

/** Wakes a session `wakes` times, in turns with a workflow that starts an empty activity. */
export async function measureCached({ client, worker, session, next }: Woken, wakes: number): Promise<WakeFigures> {
  const workflowId = `empty-${randomUUID()}`;
  const chain = await client.temporal.workflow.start(EMPTY_ACTIVITIES, {
    workflowId: `chain-${randomUUID()}`,
    taskQueue: TASK_QUEUE,
    args: [wakes],
  });
  await chain.result();
  const chained = [...(await worker.calls()).values()];
  const handle = await client.temporal.workflow.start(EMPTY_ON_UPDATE, { workflowId, taskQueue: TASK_QUEUE, args: [wakes] });
  const sentAt = { session: new Map<string, number>(), update: new Map<string, number>() };
  for (let wake = 0; wake < wakes; wake += 1) {
    const question = next();
    await pause(IDLE_MS);
    sentAt.session.set(question.id, now());
    await askSession(client, session, question);
    const id = `update-${wake}`;
    await pause(IDLE_MS);
    sentAt.update.set(id, now());
    await handle.executeUpdate<void, [string]>('ask', { args: [id] });
  }
  await handle.result();
  const calls = await worker.calls();
  return {
    wakeCachedP50Ms: p50(delays(sentAt.session, calls)),
    emptyActivityP50Ms: p50(chained.slice(1).map((at, index) => at - (chained[index] ?? 0))),
    emptyUpdateP50Ms: p50(delays(sentAt.update, calls)),
  };
}

/** Wakes a session `wakes` times, each time after other sessions have taken its place in the cache of the worker. */
export async function measureEvicted({ client, worker, session, next }: Woken, others: readonly Woken[], wakes: number): Promise<number> {
  const sentAt = new Map<string, number>();
  for (let wake = 0; wake < wakes; wake += 1) {
    for (const other of others) await askSession(client, other.session, other.next());
    const question = next();
    await pause(IDLE_MS);
    sentAt.set(question.id, now());
    await askSession(client, session, question);
  }
  return p50(delays(sentAt, await worker.calls()));
}

function delays(sentAt: ReadonlyMap<string, number>, calls: ReadonlyMap<string, number>): number[] {
  return [...sentAt].map(([id, at]) => (calls.get(id) ?? Number.NaN) - at);
}

function p50(values: readonly number[]): number {
  return rounded(median(values), 2);
}
