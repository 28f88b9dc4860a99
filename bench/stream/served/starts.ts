import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { median, rounded } from '../../figures/statistics.ts';
import { reporter } from './reporter.ts';
import type { ServeSurroundings } from './serve-surroundings.ts';

/** The times of starts, in milliseconds, and the times over HTTP divided by the client's. */
export interface StartTimes {
  startRatio: number;
  startHttpMs: number;
  startClientMs: number;
  /** The same for runs that a worker on the same cores begins at once, while the response to their start is sent. */
  startRatioWithWorker: number;
}

/** Starts of each way before the first one that counts: a service that has just begun runs code that is not compiled yet. */
const WARM_UP = 2_000;

/** The number of them that are made at the same time. */
const AT_ONCE = 10;

/** The pause before each start, which lets the server finish its work on the previous one. */
const PAUSE_MS = 20;
const INPUT = JSON.stringify({ steps: 0, tokens: 1, rate: 0, phaseMs: 0 });

/** A run that begins takes several times as long as its start, so proportionally fewer are timed. */
const FEWER_WITH_WORKER = 5;

/** A task queue that no worker polls. */
const NO_WORKER = 'no-worker';

/** Starts a run of the reporter with that id, in the default task queue or in another one. */
type Start = (runId: string, taskQueue?: string) => Promise<unknown>;

/** The ways of a start. */
type Way = 'http' | 'client';

/**
 * Times starts by turns, from this process: `POST /v1/runs` on a connection that is kept alive, and `client.start`, both warmed up. The
 * runs of `startRatio` are taken by no worker: the caller, the service and the server have the cores to themselves. Of the others, each has
 * ended before the next one starts.
 */
export async function timeStarts({ url, client }: ServeSurroundings, starts: number): Promise<StartTimes> {
  const connections = new Pool(url, { connections: AT_ONCE });
  const ways: Record<Way, Start> = {
    http: (runId, taskQueue) => post(connections, '/v1/runs', { agent: reporter.name, runId, input: INPUT, taskQueue }),
    client: (runId, taskQueue) => client.start(reporter, { runId, input: INPUT, ...(taskQueue === undefined ? {} : { taskQueue }) }),
  };
  const ended = (runId: string): Promise<unknown> => client.handle(runId).result({ steps: false });
  for (let first = 0; first < WARM_UP; first += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    await Promise.all(numbers.flatMap((number) => [ways.http(`warm-http-${number}`), ways.client(`warm-client-${number}`)]));
    await Promise.all(numbers.flatMap((number) => [ended(`warm-http-${number}`), ended(`warm-client-${number}`)]));
  }
  const alone = await timeByTurns(starts, (way, pair) => timed(() => ways[way](`start-${way}-${pair}`, NO_WORKER)));
  const withWorker = await timeByTurns(Math.ceil(starts / FEWER_WITH_WORKER), async (way, pair) => {
    const runId = `begun-${way}-${pair}`;
    const time = await timed(() => ways[way](runId));
    await ended(runId);
    return time;
  });
  await connections.close();
  return {
    startRatio: rounded(alone.http / alone.client, 3),
    startHttpMs: rounded(alone.http, 2),
    startClientMs: rounded(alone.client, 2),
    startRatioWithWorker: rounded(withWorker.http / withWorker.client, 3),
  };
}

/** Times pairs of starts, each way first in turn. Returns the median of each. */
async function timeByTurns(pairs: number, time: (way: Way, pair: number) => Promise<number>): Promise<Record<Way, number>> {
  const times: Record<Way, number[]> = { http: [], client: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    const order: Way[] = pair % 2 === 0 ? ['http', 'client'] : ['client', 'http'];
    for (const way of order) {
      await pause(PAUSE_MS);
      times[way].push(await time(way, pair));
    }
  }
  return { http: median(times.http), client: median(times.client) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Sends JSON, and resolves with the end of the response. Rejects for any status but 201. */
async function post(connections: Pool, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await connections.request({ path, method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.body.text();
  if (response.statusCode !== 201) throw new Error(`A start was answered by ${response.statusCode}: ${text}`);
}
