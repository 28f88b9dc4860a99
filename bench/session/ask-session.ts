import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient, SessionHandle } from '../../src/client/index.ts';
import { answeringTurn } from '../../src/client/session-handle.ts';
import { queryRun } from '../../src/client/executions.ts';
import { QUERIES } from '../../src/core/protocol.ts';
import type { TurnView } from '../../src/core/domain/sessions.ts';
import { questionText } from './question.ts';

/** Shorter than the client's pauses, so that they do not hide turns that become slower. */
const PAUSE_MS = 10;

/** A question, and the number that its text is made from. */
export interface Question {
  id: string;
  seed: number;
}

/** Sends a question, and waits for the end of its turn. */
export async function askSession({ temporal }: LonghaulClient, session: SessionHandle, { id, seed }: Question): Promise<void> {
  const turn = answeringTurn(session.id, await session.send(questionText(id, seed), { id }));
  for (;;) {
    const view = await queryRun<TurnView>(temporal, session.id, QUERIES.turn, { turn });
    if (view !== undefined && (view.result !== undefined || view.firstTurn > turn)) return;
    await pause(PAUSE_MS);
  }
}
