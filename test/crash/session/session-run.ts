import { setTimeout as pause } from 'node:timers/promises';
import type { RunHandle, SessionHandle, TurnResult } from '../../../src/client/index.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { ASLEEP, KILLED } from '../points/points.ts';
import { type CrashTestbed, kill } from '../processes/crash-testbed.ts';
import { retryWhileDown, within } from '../processes/retry-while-down.ts';
import { attemptsGivenUp } from '../program/given-up.ts';
import { armFor, type Disturbance, disturbUntilEnded, killIdle, killsOf } from '../runs/disturbance.ts';
import { callerOf, untilRun } from '../runs/start-once.ts';
import { ATTENDANT, FORGETS, INTERRUPTED, LOOKS_UP, MESSAGES, REFUNDS, REFUSED, TERMS } from './conversation.ts';
import type { SessionRecord } from './session-record.ts';

/** The longest waits are those for attempts without heartbeats. */
const PATIENCE_MS = 150_000;
const LOOK_EVERY_MS = 50;

/** A session that is held, and disturbed. */
interface Held {
  testbed: CrashTestbed;
  session: SessionHandle;
  disturbance: Disturbance;
  deadline: number;
}

/** Holds the session to its end. Throws if it does not end. */
export async function holdSession(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<SessionRecord> {
  const { worker, client, ledger, taskQueue } = testbed;
  const deadline = Date.now() + PATIENCE_MS;
  const kills = killsOf(testbed);
  await armFor(testbed, runId, disturbance);
  const session = client.session(ATTENDANT, { id: runId, principal: { user: runId }, taskQueue, ...TERMS, ...callerOf(testbed, runId) });
  const held: Held = { testbed, session, disturbance, deadline };
  const conversation = converse(held);
  const disturbed = disturbUntilEnded(disturbance, conversation);
  const said = await conversation;
  await disturbed;
  const read = <Result>(what: string, work: () => Promise<Result>): Promise<Result> => retryWhileDown(what, deadline, work);
  const run: RunHandle<unknown, unknown> = session.run;
  const result = await read('The result', () => run.result({ steps: true }));
  const events = await read('Reading the events', () => Array.fromAsync(run.events()));
  const turns: SessionRecord['turns'] = [];
  for (const [index] of MESSAGES.entries()) turns.push((await read('Reading a turn', () => readTurn(session, index + 1))).toJSON());
  const givenUp = await read('Reading the history', () => attemptsGivenUp(testbed, [runId]));
  const { executions } = await read('The status', () => run.status());
  await worker.whenReady();
  return {
    runId,
    result: result.toJSON(),
    events,
    turns,
    ...said,
    executions,
    effects: ledger.effects(runId),
    memory: await keysOf(testbed.memory, runId),
    asks: ledger.asks(runId),
    givenUp,
    kills: killsOf(testbed) - kills,
  };
}

/** Sends all messages, each after the end of the turn before, and closes the session. */
async function converse(held: Held): Promise<Pick<SessionRecord, 'answeredIn' | 'refusal' | 'waiting'>> {
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
  await retryWhileDown('The end', deadline, () => closed(session));
  return { answeredIn, refusal, waiting };
}

/** Returns the keys of the entries that a memory has for a user of the session. */
async function keysOf(file: string, user: string): Promise<string[]> {
  const { entries } = await fileMemory({ file }).list({ namespace: memoryNamespace({ principal: { user }, agent: ATTENDANT }) });
  return entries.map(({ key }) => key);
}

/** Reads the result of a turn, with an output of any kind. */
function readTurn(session: SessionHandle<unknown, unknown>, turn: number): Promise<TurnResult<unknown, unknown>> {
  return session.turn(turn);
}

/** Closes the session, unless the answer to an earlier attempt was lost. */
async function closed(session: SessionHandle): Promise<void> {
  try {
    await session.close({ by: 'ada' });
  } catch (error) {
    if (!(error instanceof LonghaulError) || error.code !== 'run_ended') throw error;
  }
}

/** Is refused a message, and raises the limit. Returns the code of the refusal. */
async function raiseAtLimit({ session, deadline }: Held): Promise<string> {
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

/** Waits for the pending approval, and approves it once nothing else goes on. */
async function approve({ testbed, session, disturbance, deadline }: Held): Promise<SessionRecord['waiting']> {
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
async function interrupt({ testbed, session, deadline }: Held): Promise<void> {
  const turn = MESSAGES.indexOf(INTERRUPTED) + 1;
  for (;;) {
    const status = await retryWhileDown('The status', deadline, () => session.status()).catch((error: unknown) => {
      throw new Error(`Before the interrupt: ${errorMessage(error)}`, { cause: error });
    });
    // Summaries are no steps.
    const known = testbed.ledger.asks(session.id).filter(({ told }) => told.includes('callModel')).length;
    if (status.session?.turn === turn && known > status.session.spent.stepsUsed) break;
    if (Date.now() > deadline) throw new Error('The turn to interrupt did not begin');
    await pause(LOOK_EVERY_MS);
  }
  await retryWhileDown('The interrupt', deadline, () => session.interrupt({ turn, reason: 'enough' }));
}

/** Waits until the session sleeps between two turns, and kills the victim there if that is the disturbance. */
async function killAsleep({ testbed, session, disturbance, deadline }: Held): Promise<void> {
  await untilRun(testbed, { runId: session.id, deadline, isMet: ({ isIdle }) => isIdle });
  testbed.ledger.reached(session.id, ASLEEP);
  if (disturbance.type !== 'at' || disturbance.point !== ASLEEP) return;
  testbed.ledger.reached(session.id, KILLED);
  await kill(testbed, testbed.pass);
}
