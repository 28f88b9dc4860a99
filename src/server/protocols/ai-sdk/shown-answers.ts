import type { Decision } from '../../../core/domain/approvals.ts';
import { errorCode } from '../../../core/domain/errors.ts';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { AppliedAnswer } from './answer-approvals.ts';
import type { AnsweredCall, AskedBelow } from './encoder/turn-calls.ts';

/**
 * Returns the answers on calls of runs below a session as their message shows them: with the decision that holds. The stream of the
 * session shows those on its own calls from the record.
 */
export async function shownAnswers(
  client: Pick<LonghaulClient, 'handle'>,
  sessionId: string,
  applied: readonly AppliedAnswer[],
): Promise<AnsweredCall[]> {
  const below = applied.filter(({ subject }) => subject.runId !== sessionId);
  return Promise.all(below.map(async (answer) => shownAnswer(client, answer)));
}

async function shownAnswer(client: Pick<LonghaulClient, 'handle'>, { outcome, ...answer }: AppliedAnswer): Promise<AnsweredCall> {
  if (outcome === 'taken') return answer;
  const decision = outcome === 'decided_before' ? await recordedDecision(client, answer.subject) : undefined;
  if (decision === undefined) return { ...answer, isUndecided: true };
  const { approvalId, subject } = answer;
  const approved = decision.type !== 'reject';
  const reason = decision.reason ?? (approved === answer.approved ? answer.reason : undefined);
  return { approvalId, subject, approved, ...(reason === undefined ? {} : { reason }) };
}

/** Returns the answer on a call of a run below that others have decided on, as its message shows it. */
export async function recordedAnswer(client: Pick<LonghaulClient, 'handle'>, { approvalId, subject }: AskedBelow): Promise<AnsweredCall> {
  const decision = await recordedDecision(client, subject);
  if (decision === undefined) return { approvalId, subject, approved: true, isUndecided: true };
  const { type, reason } = decision;
  return { approvalId, subject, approved: type !== 'reject', ...(reason === undefined ? {} : { reason }) };
}

/** Reads the decision on a call from the record of its run; undefined if the record is not there any more. */
async function recordedDecision(
  client: Pick<LonghaulClient, 'handle'>,
  { runId, callId }: { runId: string; callId: string },
): Promise<Decision | undefined> {
  let found: Decision | undefined;
  try {
    for await (const { decision } of client.handle(runId).events()) if (decision?.callId === callId) found = decision;
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'history_removed' && code !== 'run_not_found') throw error;
  }
  return found;
}
