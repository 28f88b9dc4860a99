import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient, type SessionHandle } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine } from '../figures/machine.ts';
import { rounded } from '../figures/statistics.ts';
import type { SessionBenchOptions } from './session-options.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { askSession } from './ask-session.ts';
import { checkRecord } from './session-record.ts';
import { sessionFigures } from './session-figures.ts';
import { weighSession } from './session-histories.ts';
import { SessionWorker } from './session-worker.ts';
import { talker } from './talker.ts';
import { measureCached, measureEvicted, type Woken } from './wakes.ts';

type Say = (line: string) => void;

/** Turns of a session that is not measured: they load and compile code, and open connections. */
const WARM_UP_TURNS = 100;

/** The number of wakes of a measurement. */
const WAKES = 200;
const EVICTED_WAKES = 40;

/** The cache size of the worker that evicts a session because of other sessions. */
const SMALL_CACHE = 2;

const MIB = 1024 ** 2;
const MINUTE_S = 60;

/**
 * Runs one session of `messages` messages, each answered by one model call, on a tuned dev server and a worker in a separate process; then
 * leaves it idle, and wakes it from the cache of a worker and from its history. Returns the object of the last line.
 */
export async function measureSession({ messages, resultChars, idleSeconds }: SessionBenchOptions, say: Say): Promise<object> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile(fileURLToPath(new URL('empty-workflow.ts', import.meta.url)));
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const setting = { address, namespace, bundlePath: bundle.path, resultChars };
  let worker = await SessionWorker.start(setting);
  try {
    const asked: string[] = [];
    const session = open(client);
    await runTurns({ client, worker, session: open(client), next: counting([]) }, WARM_UP_TURNS);
    await worker.watch(session.id, messages, ({ step, rss }) => {
      if (step % Math.ceil(messages / 10) === 0) say(`${step} of ${messages} turns, the worker holds ${(rss / MIB).toFixed(0)} MiB`);
    });
    const woken: Woken = { client, worker, session, next: counting(asked) };
    await runTurns(woken, messages);
    const times = await worker.times();
    const { samples } = worker;
    const histories = await weighSession(client.temporal, session.id);
    const figures = sessionFigures({ messages, histories, ...times, samples });
    say(`idle for ${idleSeconds} s`);
    const idleEvents = await eventsWhileIdle(client, session, idleSeconds);
    await worker.calls();
    say(`waking it ${WAKES} times from the cache`);
    const cached = await measureCached(woken, WAKES);
    await worker.stop();
    worker = await SessionWorker.start({ ...setting, cached: SMALL_CACHE });
    say(`waking it ${EVICTED_WAKES} times from its history`);
    const others = Array.from({ length: SMALL_CACHE }, () => ({ client, worker, session: open(client), next: counting([]) }));
    const { historyLength: evictedHistoryEvents } = await client.temporal.workflow.getHandle(session.id).describe();
    const wakeEvictedP50Ms = await measureEvicted({ ...woken, worker }, others, EVICTED_WAKES);
    await session.close();
    say('reading the record of the whole session');
    const { lost, doubled, misplaced, turns } = await checkRecord(session.run.export(), asked);
    return {
      ...figures,
      lost,
      doubled,
      misplaced,
      recordedTurns: turns,
      ...cached,
      wakeEvictedP50Ms,
      evictedHistoryEvents,
      wakeToEmptyActivity: rounded(cached.wakeCachedP50Ms / cached.emptyActivityP50Ms, 2),
      wakeToEmptyUpdate: rounded(cached.wakeCachedP50Ms / cached.emptyUpdateP50Ms, 2),
      idleEventsPerMinute: rounded((idleEvents * MINUTE_S) / idleSeconds, 2),
      idleSeconds,
      resultChars,
      machine: { ...(await describeMachine(client.temporal)), modelClient: 'a function' },
    };
  } finally {
    await worker.stop();
    await client.close();
    await bundle.remove();
    await server.stop();
  }
}

/** A session with the defaults, whose limits are lifted. */
function open(client: LonghaulClient): SessionHandle {
  return client.session(talker, { id: `session-${randomUUID()}`, limits: { turns: null, totalTokens: null } });
}

/** Names one question after the other, and keeps their ids. */
function counting(ids: string[]): Woken['next'] {
  const prefix = randomUUID().slice(0, 4);
  let seed = 0;
  return () => {
    const id = `${prefix}-${(seed += 1)}`;
    ids.push(id);
    return { id, seed };
  };
}

async function runTurns({ client, worker, session, next }: Woken, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.race([askSession(client, session, next()), worker.died]);
}

/** Returns the number of events that an idle session gains within `seconds` seconds. */
async function eventsWhileIdle({ temporal }: LonghaulClient, { id }: SessionHandle, seconds: number): Promise<number> {
  const handle = temporal.workflow.getHandle(id);
  const before = await handle.describe();
  await pause(seconds * 1_000);
  const after = await handle.describe();
  if (after.runId !== before.runId) throw new Error('The session has continued as new while it was idle');
  return after.historyLength - before.historyLength;
}
