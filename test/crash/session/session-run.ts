import type { RunResultJson } from '../../../src/core/domain/result.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { SessionHandle, TurnResult, RunHandle } from '../../../src/client/index.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { ASLEEP, KILLED } from '../points/points.ts';
import { type CrashTestbed, kill } from '../processes/crash-testbed.ts';
import { retryWhileDown, within, callerOf, untilRun, attemptsGivenUp } from '../runs/run-on-server.ts';
import { type Disturbance, killIdle, armFor, disturbUntilEnded, killsOf } from '../subject.ts';
import { FORGETS, INTERRUPTED, LOOKS_UP, MESSAGES, REFUNDS, REFUSED, TERMS } from './conversation.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { Ask, Effect } from '../processes/ledger.ts';

/** The data about a session after its end. */
export interface SessionRecord extends RecordOfSession {
  /** The results of all turns, read after the end. */
  turns: RunResultJson<unknown>[];
  /** The numbers of the turns that answered, by the messages, as they were read when they had ended. */
  answeredIn: Record<string, number>;
  /** The code of the refusal of a message at the limit of the session. */
  refusal: string;
  /** The status of the session while a call waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** The keys of the entries that the memory has for its user. */
  memory: string[];
}

const LOOK_EVERY_MS = 50;

/** Holds the session with an agent to its end. Throws if it does not end. */
export async function holdSession(
  agent: string,
  testbed: CrashTestbed,
  ...[runId, disturbance]: [runId: string, disturbance: Disturbance]
): Promise<SessionRecord> {
  const { client, taskQueue } = testbed;
  const session = client.session(agent, { id: runId, principal: { user: runId }, taskQueue, ...TERMS, ...callerOf(testbed, runId) });
  const { said, ...record } = await holdToEnd(testbed, { session, disturbance }, async (held) => {
    const answers = await converse(held);
    const turns: SessionRecord['turns'] = [];
    for (const [index] of MESSAGES.entries()) {
      const turn = await retryWhileDown('Reading a turn', held.deadline, () => readTurn(session, index + 1));
      turns.push(turn.toJSON());
    }
    return { ...answers, turns };
  });
  return { ...record, ...said, memory: await keysOf(testbed.memory, agent, runId) };
}

/** Sends all messages, each after the end of the turn before, and closes the session. */
async function converse(held: HeldSession): Promise<Pick<SessionRecord, 'answeredIn' | 'refusal' | 'waiting'>> {
  const { session, deadline } = held;
  const answeredIn: Record<string, number> = {};
  let waiting: SessionRecord['waiting'] = { status: 'never asked', waitingFor: [] };
  let refusal = 'none';
  for (const message of MESSAGES) {
    if (message === REFUSED) refusal = await raiseAtLimit(held);
    if (message === FORGETS) await retryWhileDown('The refresh', deadline, () => session.refresh());
    const answer = retryWhileDown(`Message ${message}`, deadline, () => session.ask(message, { id: message }));
    const meanwhile =
      message === REFUNDS ? approve(held).then((seen) => (waiting = seen)) : message === INTERRUPTED ? interrupt(held) : undefined;
    // A turn that ends before it was interrupted has the reason in its result.
    answer.catch(() => undefined);
    await meanwhile;
    answeredIn[message] = (await answer).turn;
    if (message === LOOKS_UP) await killAsleep(held);
  }
  await closeSession(held);
  return { answeredIn, refusal, waiting };
}

/** Returns the keys of the entries that a memory has for a user of the session. */
async function keysOf(file: string, agent: string, user: string): Promise<string[]> {
  const { entries } = await fileMemory({ file }).list({ namespace: memoryNamespace({ principal: { user }, agent }) });
  return entries.map(({ key }) => key);
}

/** Reads the result of a turn, with an output of any kind. */
function readTurn(session: SessionHandle<unknown, unknown>, turn: number): Promise<TurnResult<unknown, unknown>> {
  return session.turn(turn);
}

/** Is refused a message, and raises the limit. Returns the code of the refusal. */
async function raiseAtLimit({ session, deadline }: HeldSession): Promise<string> {
  const refusal = await retryWhileDown('The message at the limit', deadline, async () => {
    try {
      await session.send(REFUSED, { id: `${REFUSED} too early` });
      return 'none';
    } catch (error) {
      if (error instanceof LonghaulError && error.code === 'session_limit') return error.code;
      throw error;
    }
  });
  await retryWhileDown('The raise', deadline, () => session.raise({ turns: MESSAGES.length }, { id: 'more', by: 'ada' }));
  return refusal;
}

/** Waits for the pending approval, and approves it once nothing else is in progress. */
async function approve({ testbed, session, disturbance, deadline }: HeldSession): Promise<SessionRecord['waiting']> {
  const { run } = session;
  const digest = await within(
    'The wait for the approval',
    deadline,
    new Promise<string>((resolve) => {
      testbed.worker.listen('waiting', (waiting) => {
        if (waiting.runId === session.id) resolve(waiting.digest);
      });
    }),
  );
  await untilRun(testbed, { runId: session.id, deadline, isMet: ({ isIdle }) => isIdle });
  await killIdle(testbed, session.id, disturbance);
  const { status, waitingFor } = await retryWhileDown('The status', deadline, () => run.status());
  await retryWhileDown('The approval', deadline, () => run.approve({ callId: REFUNDS, digest }, { id: 'yes', by: 'boss' }));
  return { status, waitingFor };
}

/** Interrupts the turn whose model never answers, once its model is called. */
async function interrupt({ testbed, session, deadline }: HeldSession): Promise<void> {
  const turn = MESSAGES.indexOf(INTERRUPTED) + 1;
  for (;;) {
    const status = await retryWhileDown('The status', deadline, () => session.status()).catch((error: unknown) => {
      throw new Error(`Before the interrupt: ${errorMessage(error)}`, { cause: error });
    });
    // Summaries are not steps.
    const known = testbed.ledger.asks(session.id).filter(({ told }) => told.includes('callModel')).length;
    if (status.session?.turn === turn && known > status.session.spent.stepsUsed) break;
    if (Date.now() > deadline) throw new Error('The turn to interrupt did not begin');
    await pause(LOOK_EVERY_MS);
  }
  await retryWhileDown('The interrupt', deadline, () => session.interrupt({ turn, reason: 'enough' }));
}

/** Waits until the session sleeps between two turns, and kills the victim there if that is the disturbance. */
async function killAsleep({ testbed, session, disturbance, deadline }: HeldSession): Promise<void> {
  await untilRun(testbed, { runId: session.id, deadline, isMet: ({ isIdle }) => isIdle });
  testbed.ledger.reached(session.id, ASLEEP);
  if (disturbance.type !== 'at' || disturbance.point !== ASLEEP) return;
  testbed.ledger.reached(session.id, KILLED);
  await kill(testbed, testbed.pass);
}

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

/** Holds a session to its end, and reads its record. Throws if it does not end. `talk` sends its messages. */
export async function holdToEnd<Said>(
  testbed: CrashTestbed,
  { session, disturbance }: Pick<HeldSession, 'session' | 'disturbance'>,
  talk: (held: HeldSession) => Promise<Said>,
): Promise<RecordOfSession & { said: Said }> {
  const { worker, ledger } = testbed;
  const { id: runId } = session;
  const deadline = Date.now() + PATIENCE_MS;
  const kills = killsOf(testbed);
  await armFor(testbed, runId, disturbance);
  const conversation = talk({ testbed, session, disturbance, deadline });
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
