import { LonghaulError } from '../../core/domain/errors.ts';
import type { MessageReceipt } from '../../core/protocol.ts';

/** Returns the number of the turn that answers a message. Throws `invalid_input` for a message to a run that is no session. */
export function answeringTurn(sessionId: string, { id, turn }: Pick<MessageReceipt, 'id' | 'turn'>): number {
  if (turn !== undefined) return turn;
  throw new LonghaulError(
    'invalid_input',
    `No turn answers message "${id}": run "${sessionId}" is no session, or another request had that id. Read the run by its handle, or send the message under another id`,
  );
}
