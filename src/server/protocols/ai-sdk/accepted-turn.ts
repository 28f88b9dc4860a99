import { createHash } from 'node:crypto';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { SessionHandle } from '../../../client/session-handle.ts';
import { errorCode } from '../../../core/domain/errors.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import type { MessageReceipt, StatusView } from '../../../core/protocol.ts';
import { placeOfTurn, type Turn } from './followed-turn.ts';
import { answerApprovals, answeredCalls, type AppliedAnswer, changedMessage, type PostedChat, type UserMessage } from './posted-chat.ts';
import type { PageDecisions } from './who-decides.ts';

/** Returns the status of a session or a run; undefined if there is none. */
export async function statusIfKnown(session: Pick<Chat, 'status'>): Promise<StatusView | undefined> {
  try {
    return await session.status();
  } catch (error) {
    // A page may ask before its first message: that is not an error.
    if (errorCode(error) === 'run_not_found' || errorCode(error) === 'not_a_run') return undefined;
    throw error;
  }
}

/** Returns the number of the turn in progress or about to begin with an accepted message; undefined for an idle session. */
export function runningTurn({ status, session, queued, limits }: StatusView): number | undefined {
  if (isTerminal(status) || (status === 'idle' && queued === 0)) return undefined;
  // Before its agent is resolved, a run does not show whether it is a session.
  if (session === undefined) return limits === undefined ? 1 : undefined;
  return session.turn ?? session.turns + 1;
}

/** A session, or a run, which has one turn. */
interface Chat {
  run: RunHandle<unknown, unknown>;
  status: () => Promise<StatusView>;
}

/** A chat to which a client has posted. */
interface PostedTo {
  session: Chat & Pick<SessionHandle, 'send'>;
  decisions: PageDecisions;
  signal: AbortSignal;
  /** The number of events that the session had recorded before the request. */
  recorded: number;
}

/**
 * Applies what a client has posted, and returns the turn that answers it. An invalid answer to an approval is an error, except with
 * a new message, since the page sends the answer again with every message. Throws as `answerApprovals` and `send`.
 */
export async function acceptedTurn(to: PostedTo, posted: PostedChat): Promise<Turn> {
  const { session, recorded } = to;
  const { message, goesOn } = posted;
  const { applied, refusal } = await appliedAnswers(to, posted);
  if (message === undefined && refusal !== undefined) throw refusal;
  const receipt = message && (await sendPosted(session, message));
  // A session answers an already accepted message with its first receipt, or with one without an offset.
  const isRepeated = receipt !== undefined && (receipt.offset ?? 0) < recorded;
  // A request that continues a message is about its answers. A request for an answer that is already recorded is not.
  if (refusal !== undefined && (goesOn || (isRepeated && !posted.isRepeat))) throw refusal;
  return goesOn && applied.length > 0 ? continuedTurn(session, applied) : turnOfReceipt(session, receipt);
}

/** Returns the turn that answers a message, given by its receipt: without one, the newest turn that has begun. */
export async function turnOfReceipt(session: Chat, receipt?: Partial<MessageReceipt>): Promise<Turn> {
  const { run } = session;
  const {
    id,
    queued,
    beforeStep,
    offset = Number.MAX_SAFE_INTEGER,
    turn = Math.max(1, (await session.status()).session?.turns ?? 1),
  } = receipt ?? {};
  const place = await placeOfTurn(run, turn, offset);
  // A session that has just started counts its first message before it has recorded it.
  const from = turn === 1 && beforeStep === 1 ? 0 : offset;
  const isNew = receipt?.offset !== undefined && id !== undefined && queued !== undefined;
  return { run, turn, place, ...(isNew ? { message: { id, offset: from, queued } } : {}) };
}

async function appliedAnswers({ session, decisions, signal }: PostedTo, { answers }: PostedChat): ReturnType<typeof answerApprovals> {
  if (answers.length === 0) return { applied: [] };
  try {
    decisions.require();
  } catch (refusal) {
    return { applied: [], refusal };
  }
  return answerApprovals(session.run, answers, { decisions, signal });
}

/** Returns the newest turn with an answer, from after the response whose calls were answered. */
async function continuedTurn({ run }: Chat, applied: AppliedAnswer[]): Promise<Turn> {
  const turn = Math.max(...applied.map(({ subject }) => subject.turn));
  // Calls of other turns belong to other messages.
  const ofTurn = applied.filter(({ subject }) => subject.turn === turn);
  const after = Math.min(...ofTurn.map(({ subject }) => subject.offset));
  const answers = await answeredCalls(run, ofTurn);
  return { run, turn, after, answers, place: await placeOfTurn(run, turn, after) };
}

/** The longest id of a message. */
const LONGEST_ID = 64;

/** Returns an id that a run accepts for a message whose client has chosen this one. */
function boundedId(id: string): string {
  return id.length <= LONGEST_ID ? id : createHash('sha256').update(id).digest('hex');
}

/** Sends a message to the session. Throws `invalid_request` if it was sent before with other content. */
async function sendPosted(session: PostedTo['session'], { id, content }: UserMessage): Promise<MessageReceipt> {
  try {
    return await session.send(content, { id: boundedId(id) });
  } catch (error) {
    throw errorCode(error) === 'key_reused' ? changedMessage() : error;
  }
}
