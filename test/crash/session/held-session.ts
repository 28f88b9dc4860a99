import type { RunHandle, SessionHandle } from '../../../src/client/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import type { Ask, Effect } from '../processes/ledger.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { attemptsGivenUp } from '../program/given-up.ts';
import { armFor, type Disturbance, disturbUntilEnded, killsOf } from '../runs/disturbance.ts';

/** The longest waits are those for attempts without heartbeats. */
const PATIENCE_MS = 150_000;

/** A session that is held, and disturbed. */
export interface HeldSession {
  testbed: CrashTestbed;
  session: SessionHandle;
  disturbance: Disturbance;
  deadline: number;
}

/** The data that every session has after its end. */
export interface RecordOfSession {
  runId: string;
  /** The result of the whole session, with its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}

/** Holds a session to its end, and reads its record. Throws if it does not end. `converse` sends its messages. */
export async function holdToEnd<Said>(
  testbed: CrashTestbed,
  { session, disturbance }: Pick<HeldSession, 'session' | 'disturbance'>,
  converse: (held: HeldSession) => Promise<Said>,
): Promise<RecordOfSession & { said: Said }> {
  const { worker, ledger } = testbed;
  const { id: runId } = session;
  const deadline = Date.now() + PATIENCE_MS;
  const kills = killsOf(testbed);
  await armFor(testbed, runId, disturbance);
  const conversation = converse({ testbed, session, disturbance, deadline });
  const disturbed = disturbUntilEnded(disturbance, conversation);
  const said = await conversation;
  await disturbed;
  const read = <Result>(what: string, work: () => Promise<Result>): Promise<Result> => retryWhileDown(what, deadline, work);
  const run: RunHandle<unknown, unknown> = session.run;
  const result = await read('The result', () => run.result({ steps: true }));
  const events = await read('Reading the events', () => Array.fromAsync(run.events()));
  const givenUp = await read('Reading the history', () => attemptsGivenUp(testbed, [runId]));
  const { executions } = await read('The status', () => run.status());
  await worker.whenReady();
  return {
    runId,
    said,
    result: result.toJSON(),
    events,
    executions,
    effects: ledger.effects(runId),
    asks: ledger.asks(runId),
    givenUp,
    kills: killsOf(testbed) - kills,
  };
}

/** Closes a session. Somebody may have done so before, and lost the answer. */
export async function closeSession({ session, deadline }: HeldSession): Promise<void> {
  await retryWhileDown('The end', deadline, async () => {
    try {
      await session.close({ by: 'ada' });
    } catch (error) {
      if (!(error instanceof LonghaulError) || error.code !== 'run_ended') throw error;
    }
  });
}
