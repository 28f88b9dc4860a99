import { randomUUID } from 'node:crypto';
import { connect, type LonghaulClient, type SessionHandle } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine } from '../figures/machine.ts';
import { rounded, sum } from '../figures/statistics.ts';
import type { IdleSessionsOptions } from '../options.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { questionText, checkRecord, type CheckedRecord, talker } from './questions.ts';
import { SessionWorker } from '../endless/measured-worker.ts';

type Say = (line: string) => void;

/** The questions of each session: the first starts it, and each of the others wakes it. */
const QUESTIONS = 3;

/** The number of sessions that are started, or read, at the same time. */
const AT_ONCE = 25;

/** The parts of the sessions after which the memory of the worker is read. */
const READINGS = 4;

/** For an answer on a busy machine: thousands of sessions are replayed to wake all of them. */
const TIMEOUT = '15m';

const MIB = 1024 ** 2;

/**
 * Starts `sessions` sessions on a worker that caches `cached` of them, lets all of them become idle, and then wakes all at once, each with
 * sequential questions. Returns the object of the last line.
 */
export async function measureIdleSessions({ sessions: count, cached, resultChars }: IdleSessionsOptions, say: Say): Promise<object> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile();
  const { address, namespace } = server;
  // On a busy machine messages wait for the worker for a while: that is expected here.
  const client = await connect({ address, namespace, onNotice: () => undefined });
  const worker = await new SessionWorker({ address, namespace, bundlePath: bundle.path, resultChars, cached }).start();
  try {
    const sessions = Array.from({ length: count }, (_, index) => new IdleSession(client, index));
    await Promise.race([inTurns(sessions.slice(0, cached), (session) => session.ask()), worker.died]);
    const rssBySessions: [sessions: number, rss: number][] = [];
    for (let part = 1; part <= READINGS; part += 1) {
      const through = Math.round((count * part) / READINGS);
      const more = sessions.slice(0, through).filter(({ asked }) => asked.length === 0);
      await Promise.race([inTurns(more, (session) => session.ask()), worker.died]);
      const rss = await worker.rss();
      rssBySessions.push([through, rss]);
      say(`${through} of ${count} sessions are idle, the worker holds ${(rss / MIB).toFixed(0)} MiB`);
    }
    const begun = performance.now();
    const woken = sessions.map(async (session) => {
      for (let question = 1; question < QUESTIONS; question += 1) await session.ask();
    });
    await Promise.race([Promise.all(woken), worker.died]);
    const seconds = rounded((performance.now() - begun) / 1_000, 1);
    const rssWoken = await worker.rss();
    say(`all of them have answered within ${seconds} s, the worker holds ${(rssWoken / MIB).toFixed(0)} MiB`);
    const records: CheckedRecord[] = [];
    await Promise.race([inTurns(sessions, async (session) => void records.push(await session.check())), worker.died]);
    const total = (read: (record: CheckedRecord) => number): number => sum(records.map(read));
    return {
      sessions: count,
      cached,
      questions: count * QUESTIONS,
      answered: total(({ turns }) => turns),
      lost: total(({ lost }) => lost),
      doubled: total(({ doubled }) => doubled),
      misplaced: total(({ misplaced }) => misplaced),
      rssFirst: rssBySessions[0]?.[1] ?? Number.NaN,
      rssLast: rssBySessions.at(-1)?.[1] ?? Number.NaN,
      rssGrowth: rounded((rssBySessions.at(-1)?.[1] ?? Number.NaN) / (rssBySessions[0]?.[1] ?? Number.NaN), 3),
      rssWoken,
      rssBySessions,
      secondsToWake: seconds,
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

/** A session of the crowd, and its questions. */
class IdleSession {
  readonly asked: string[] = [];
  readonly #session: SessionHandle;
  readonly #index: number;

  constructor(client: LonghaulClient, index: number) {
    this.#session = client.session(talker, { id: `idle-${index}-${randomUUID()}` });
    this.#index = index;
  }

  /** Asks the next question, and waits for its answer. */
  async ask(): Promise<void> {
    const id = `${this.#index}-${this.asked.length + 1}`;
    this.asked.push(id);
    await this.#session.ask(questionText(id, this.#index), { id, timeout: TIMEOUT });
  }

  /** Checks that its record has its own questions, in their order, and their answers. */
  check(): Promise<CheckedRecord> {
    return checkRecord(this.#session.run.export(), this.asked);
  }
}

/** Does work for all sessions, some at a time. */
async function inTurns(sessions: readonly IdleSession[], work: (session: IdleSession) => Promise<void>): Promise<void> {
  const queue = sessions.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const session of queue) await work(session);
    }),
  );
}
