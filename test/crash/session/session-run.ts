import { setTimeout as pause } from 'node:timers/promises';
import type { SessionHandle, TurnResult } from '../../../src/client/index.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';
import { fileMemory } from '../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { ASLEEP, KILLED } from '../points/points.ts';
import { type CrashTestbed, kill } from '../processes/crash-testbed.ts';
import { retryWhileDown, within } from '../processes/retry-while-down.ts';
import { type Disturbance, killIdle } from '../runs/disturbance.ts';
import { callerOf, untilRun } from '../runs/start-once.ts';
import { FORGETS, INTERRUPTED, LOOKS_UP, MESSAGES, REFUNDS, REFUSED, TERMS } from './conversation.ts';
import { closeSession, type HeldSession, holdToEnd } from './held-session.ts';
import type { SessionRecord } from './session-record.ts';

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
