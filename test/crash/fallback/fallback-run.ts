import type { RunHandle, SessionHandle } from '../../../src/client/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Ask, Effect } from '../processes/ledger.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { attemptsGivenUp } from '../program/given-up.ts';
import { armFor, type Disturbance, disturbUntilEnded, killIdle, killsOf } from '../runs/disturbance.ts';
import { callerOf } from '../runs/start-once.ts';
import { OUTAGES, STEADFAST } from './outages.ts';

const PATIENCE_MS = 150_000;

/** The data about the session after its end. */
export interface FallbackRecord {
  runId: string;
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** The answers, in the order of the messages. */
  answers: string[];
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  kills: number;
}

/** Holds a session in which the first model of each turn fails in another way. Throws if it does not end. */
export async function holdThroughOutages(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<FallbackRecord> {
  const { worker, client, ledger, taskQueue } = testbed;
  const deadline = Date.now() + PATIENCE_MS;
  const kills = killsOf(testbed);
  await armFor(testbed, runId, disturbance);
  const limits = { turns: OUTAGES.length, totalTokens: 1_000_000 };
  const session: SessionHandle = client.session(STEADFAST, { id: runId, taskQueue, limits, ...callerOf(testbed, runId) });
  const conversation = converse(testbed, session, { deadline, disturbance });
  const disturbed = disturbUntilEnded(disturbance, conversation);
  const answers = await conversation;
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
    result: result.toJSON(),
    events,
    answers,
    executions,
    effects: ledger.effects(runId),
    asks: ledger.asks(runId),
    givenUp,
    kills: killsOf(testbed) - kills,
  };
}

async function converse(
  testbed: CrashTestbed,
  session: SessionHandle,
  { deadline, disturbance }: { deadline: number; disturbance: Disturbance },
): Promise<string[]> {
  const answers: string[] = [];
  for (const { message } of OUTAGES) {
    const { output } = await retryWhileDown(`Message ${message}`, deadline, () => session.ask(message, { id: message }));
    answers.push(typeof output === 'string' ? output : JSON.stringify(output));
    if (answers.length === 1) await killIdle(testbed, session.id, disturbance);
  }
  await retryWhileDown('The end', deadline, async () => {
    try {
      await session.close({ by: 'ada' });
    } catch (error) {
      // The answer to an earlier attempt was lost.
      if (!(error instanceof LonghaulError) || error.code !== 'run_ended') throw error;
    }
  });
  return answers;
}
