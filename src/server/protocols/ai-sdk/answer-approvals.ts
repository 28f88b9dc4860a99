import { createHash } from 'node:crypto';
import type { ApprovalView } from '../../../core/domain/approvals/approval.ts';
import { errorCode } from '../../../core/domain/errors/error.ts';
import type { JsonValue } from '../../../core/domain/json/json.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { RequestError } from '../../problems/request-error.ts';
import { approvalOf, type ApprovalSubject } from './encoder/approval-id.ts';
import type { ApprovalAnswer } from './posted-chat.ts';

/** A run on which answers are applied. */
export type DecidedChat = Pick<RunHandle, 'runId' | 'approvals' | 'approve' | 'reject' | 'respond'>;

/** An answer with the subject that its id names. */
export type SubjectAnswer = ApprovalAnswer & { subject: ApprovalSubject };

/** The time that the worker has to authorize decisions before the chat asks for them again. */
const SETTLING_MS = 5_000;
const SHORTEST_PAUSE_MS = 50;

/** Reads the subjects of answers. Throws `invalid_request` for an id that the service has not made. */
export function readSubjects(answers: readonly ApprovalAnswer[]): SubjectAnswer[] {
  return answers.map((answer) => {
    const subject = approvalOf(answer.approvalId);
    if (subject !== undefined) return { ...answer, subject };
    throw new RequestError('invalid_request', `"${answer.approvalId.slice(0, 40)}" is no id of an approval: send it as it was received`);
  });
}

/**
 * Decides the calls that a client has answered, each bound to its digest, and waits until the run has taken the decisions. The run
 * remembers each: an answer that is sent again changes nothing, and neither does one on a call that was decided before. The stream shows
 * the recorded decision. Throws as `approve` does otherwise.
 */
export async function answerApprovals(
  run: DecidedChat,
  answers: readonly SubjectAnswer[],
  { by, signal }: { by: string; signal: AbortSignal },
): Promise<void> {
  const { pending } = await run.approvals();
  for (const answer of answers) {
    const waiting = pending.find((one) => isAbout(run, one, answer));
    try {
      await decide(run, answer, { by, waiting });
    } catch (error) {
      if (errorCode(error) !== 'already_decided') throw error;
    }
  }
  const deadline = Date.now() + SETTLING_MS;
  for (let pause = SHORTEST_PAUSE_MS; Date.now() < deadline; pause *= 2) {
    const left = (await run.approvals()).pending;
    if (!answers.some((answer) => left.some((one) => isAbout(run, one, answer)))) return;
    await sleep(pause, signal);
  }
}

async function decide(
  run: DecidedChat,
  { approvalId, approved, reason, subject }: SubjectAnswer,
  { by, waiting }: { by: string; waiting: ApprovalView | undefined },
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

function isAbout({ runId }: { runId: string }, waiting: ApprovalView, { subject }: SubjectAnswer): boolean {
  return waiting.callId === subject.callId && waiting.digest === subject.digest && (waiting.runId ?? runId) === subject.runId;
}
