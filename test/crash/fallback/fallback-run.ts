import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { type Disturbance, killIdle } from '../runs/disturbance.ts';
import { closeSession, type HeldSession, holdToEnd, type RecordOfSession } from '../session/held-session.ts';
import { callerOf } from '../runs/start-once.ts';
import { OUTAGES } from './outages.ts';

/** The data about the session after its end. */
export interface FallbackRecord extends RecordOfSession {
  /** The answers, in the order of the messages. */
  answers: string[];
}

/** Returns the function that holds a session with an agent whose first model fails in another way in each turn. It throws if that does not end. */
export function holdThroughOutages(
  agent: string,
): (testbed: CrashTestbed, runId: string, disturbance: Disturbance) => Promise<FallbackRecord> {
  return async (testbed, runId, disturbance) => {
    const { client, taskQueue } = testbed;
    const limits = { turns: OUTAGES.length, totalTokens: 1_000_000 };
    const session = client.session(agent, { id: runId, taskQueue, limits, ...callerOf(testbed, runId) });
    const { said: answers, ...record } = await holdToEnd(testbed, { session, disturbance }, converse);
    return { ...record, answers };
  };
}

async function converse(held: HeldSession): Promise<string[]> {
  const { testbed, session, disturbance, deadline } = held;
  const answers: string[] = [];
  for (const { message } of OUTAGES) {
    const { output } = await retryWhileDown(`Message ${message}`, deadline, () => session.ask(message, { id: message }));
    answers.push(typeof output === 'string' ? output : JSON.stringify(output));
    if (answers.length === 1) await killIdle(testbed, session.id, disturbance);
  }
  await closeSession(held);
  return answers;
}
