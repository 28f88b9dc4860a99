import { type Caller, recordedName } from '../../auth/caller.ts';
import { requireScope } from '../../auth/access/scopes.ts';
import { requestId } from '../../requests/idempotency-key.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import { type AppliedAnswer, answerApprovals } from './answer-approvals.ts';
import { requireUnchanged } from './changed-message.ts';
import type { FollowedTurn } from './followed-turn.ts';
import type { PostedChat } from './posted-chat.ts';
import { shownAnswers } from './shown-answers.ts';
import { placeOfTurn } from './turn-place.ts';

/** A chat, and the caller who has posted to it. */
export interface PostedTo {
  session: SessionHandle;
  client: Pick<LonghaulClient, 'handle'>;
  caller: Caller;
  signal: AbortSignal;
  /** The number of events that the session had recorded before. */
  recorded: number;
}

/**
 * Applies what a client has posted, and returns the turn that answers it. An answer to an approval that does not fit is an error, but not
 * to a new message: that is accepted, since the page sends the answer again with every message. Throws as `answerApprovals` and `send` do.
 */
export async function acceptedTurn(to: PostedTo, posted: PostedChat): Promise<FollowedTurn> {
  const { session, recorded } = to;
  const { run } = session;
  const { message, goesOn } = posted;
  const { applied, refusal } = await appliedAnswers(to, posted);
  if (message === undefined && refusal !== undefined) throw refusal;
  const receipt = message && (await session.send(message.content, { ...requestId(undefined, message.id) }));
  // A session answers a message that it has accepted before with its first receipt, or with one without an offset.
  const isRepeated = receipt !== undefined && (receipt.offset ?? 0) < recorded;
  // A page that goes on with a message is about its answers, and one that asks for a recorded answer once more is not.
  if (refusal !== undefined && (goesOn || (isRepeated && !posted.isRepeat))) throw refusal;
  if (goesOn && applied.length > 0) return continuedTurn(to, applied);
  const { id, queued, beforeStep, offset = Number.MAX_SAFE_INTEGER, turn = await newestTurn(session) } = receipt ?? {};
  const place = await placeOfTurn(run, turn, offset);
  if (isRepeated && posted.mayBeChanged && receipt.turn !== undefined) await requireUnchanged(run, place, message);
  // A session that has just been started counts its first message before it has recorded it.
  const from = turn === 1 && beforeStep === 1 ? 0 : offset;
  const isNew = receipt?.offset !== undefined && id !== undefined && queued !== undefined;
  return { run, turn, place, ...(isNew ? { message: { id, offset: from, queued } } : {}) };
}

async function appliedAnswers({ session, caller, signal }: PostedTo, { answers }: PostedChat): ReturnType<typeof answerApprovals> {
  if (answers.length === 0) return { applied: [] };
  requireScope(caller, 'approvals:decide');
  return answerApprovals(session.run, answers, { by: recordedName(caller), signal });
}

/** Returns the newest turn with an answer, behind the response whose calls were answered. */
async function continuedTurn({ session: { run }, client }: PostedTo, applied: AppliedAnswer[]): Promise<FollowedTurn> {
  const turn = Math.max(...applied.map(({ subject }) => subject.turn));
  // Other messages have the calls of other turns.
  const ofTurn = applied.filter(({ subject }) => subject.turn === turn);
  const after = Math.min(...ofTurn.map(({ subject }) => subject.offset));
  const answers = await shownAnswers(client, run.runId, ofTurn);
  return { run, turn, after, answers, place: await placeOfTurn(run, turn, after) };
}

/** Returns the number of the newest turn. */
async function newestTurn(session: SessionHandle): Promise<number> {
  return Math.max(1, (await session.status()).session?.turns ?? 1);
}
