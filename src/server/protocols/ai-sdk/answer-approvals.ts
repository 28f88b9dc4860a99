import { createHash } from 'node:crypto';
import type { ApprovalView } from '../../../core/domain/approvals.ts';
import { ERROR_CODES, errorCode } from '../../../core/domain/errors.ts';
import type { JsonValue } from '../../../core/domain/json.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { httpStatusOf } from '../../problems/problem-of.ts';
import { RequestError } from '../../problems/request-error.ts';
import { approvalOf, type ApprovalSubject } from './encoder/approval-id.ts';
import type { ApprovalAnswer } from './posted-chat.ts';

/** A run on which answers are applied. */
export type DecidedChat = Pick<RunHandle, 'runId' | 'approvals' | 'approve' | 'reject' | 'respond'>;

/** An answer with the subject that its id names. */
type SubjectAnswer = ApprovalAnswer & { subject: ApprovalSubject };

/** An answer that was applied. */
export interface AppliedAnswer extends SubjectAnswer {
  /**
   * `taken`: it holds. `decided_before`: an earlier decision holds, which may be another one. `not_waiting`: the call waits no more, and had
   * no decision, for example because its turn was stopped.
   */
  outcome: 'taken' | 'decided_before' | 'not_waiting';
}

/** The answers of a request, once they are applied. */
export interface AppliedAnswers {
  applied: AppliedAnswer[];
  /** The error of the first answer that the run, or the service, refuses whenever it is sent. */
  refusal?: unknown;
}

/** The time that the worker has to authorize decisions before the chat asks for them again. */
const SETTLING_MS = 5_000;
const SHORTEST_PAUSE_MS = 50;

/**
 * Decides the calls that a client has answered, each bound to its digest, and waits until the run has taken the decisions. The run
 * remembers each: an answer that is sent again changes nothing, and neither does one on a call that waits no more. A page sends all its
 * answers again with every message, so one that does not fit must not keep the others. Throws what may be over when it is sent again.
 */
export async function answerApprovals(
  run: DecidedChat,
  answers: readonly ApprovalAnswer[],
  { by, signal }: { by: string; signal: AbortSignal },
): Promise<AppliedAnswers> {
  const { pending } = await run.approvals();
  const applied: AppliedAnswer[] = [];
  const refusals: unknown[] = [];
  for (const answer of answers) {
    try {
      const about = withSubject(answer);
      applied.push({ ...about, outcome: await apply(run, about, { by, waiting: pending.find((one) => isAbout(run, one, about)) }) });
    } catch (error) {
      if (!isFinal(error)) throw error;
      refusals.push(error);
    }
  }
  await settled(run, applied, signal);
  return { applied, ...(refusals.length === 0 ? {} : { refusal: refusals[0] }) };
}

/** Waits until none of the calls is pending any more, within the time for it. */
async function settled(run: DecidedChat, applied: readonly AppliedAnswer[], signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + SETTLING_MS;
  for (let pause = SHORTEST_PAUSE_MS; applied.length > 0 && Date.now() < deadline; pause *= 2) {
    const { pending } = await run.approvals();
    if (!applied.some((answer) => pending.some((one) => isAbout(run, one, answer)))) return;
    await sleep(pause, signal);
  }
}

function withSubject(answer: ApprovalAnswer): SubjectAnswer {
  const subject = approvalOf(answer.approvalId);
  if (subject !== undefined) return { ...answer, subject };
  throw new RequestError('invalid_request', `"${answer.approvalId.slice(0, 40)}" is no id of an approval: send it as it was received`);
}

interface Deciding {
  by: string;
  waiting: ApprovalView | undefined;
}

async function apply(run: DecidedChat, answer: SubjectAnswer, deciding: Deciding): Promise<AppliedAnswer['outcome']> {
  try {
    await decide(run, answer, deciding);
    return 'taken';
  } catch (error) {
    const code = errorCode(error);
    if (code === 'already_decided') return 'decided_before';
    if (code === 'unknown_call' || code === 'run_ended') return 'not_waiting';
    throw error;
  }
}

async function decide(
  run: DecidedChat,
  { approvalId, approved, reason, subject }: SubjectAnswer,
  { by, waiting }: Deciding,
): Promise<void> {
  const { runId, callId, digest } = subject;
  const about = { runId, callId, digest };
  const isAnswer = approved && (waiting?.kind === 'question' || waiting?.kind === 'outcome');
  const type = isAnswer ? 'respond' : approved ? 'approve' : 'reject';
  const options = { by, id: `chat-${createHash('sha256').update(`${type} ${approvalId}`).digest('hex').slice(0, 40)}` };
  if (type === 'respond') await run.respond(about, answerOf(waiting, reason), options);
  else if (type === 'approve') await run.approve(about, options);
  else await run.reject(about, { ...options, ...(reason === undefined ? {} : { reason }) });
}

/** Returns the answer to a question: the reason of the approval, as text or as JSON. */
function answerOf(waiting: ApprovalView | undefined, reason: string | undefined): JsonValue {
  if (reason === undefined) {
    const question = `"${waiting?.toolName}" asks a question: approve it with the answer as "reason"`;
    throw new RequestError('invalid_request', question);
  }
  if (waiting?.answer?.['type'] === 'string') return reason;
  try {
    return JSON.parse(reason) as JsonValue;
  } catch {
    return reason;
  }
}

/** True for an error about the answer itself, which comes again whenever that is sent. */
function isFinal(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && !ERROR_CODES[code].retryable && httpStatusOf(code) < 500;
}

function isAbout({ runId }: { runId: string }, waiting: ApprovalView, { subject }: SubjectAnswer): boolean {
  return waiting.callId === subject.callId && waiting.digest === subject.digest && (waiting.runId ?? runId) === subject.runId;
}
