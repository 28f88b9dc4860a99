import { alreadyDecided } from '../../core/domain/approvals/already-decided.ts';
import type { Decision } from '../../core/domain/approvals/approval.ts';
import { isErrorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { withoutContent } from '../../core/loop/approvals/approvals.ts';
import type { DecisionReceipt } from '../../core/protocol.ts';
import { readTreeRuns } from '../tree/read-tree.ts';
import type { DecidedRun } from './decided-run.ts';
import { type RecordedDecision, recordedDecision } from './recorded-decision.ts';

/** A decision that the run has not taken, because no such call waits. */
export interface UntakenDecision extends Pick<Decision, 'type' | 'callId' | 'id'> {
  /** The call is one of this run, if there is one: those below are not asked. */
  isOwner: boolean;
  code: 'unknown_call' | 'run_ended';
}

/** Answers a decision from the record of the run, and of the runs below it, or throws why it cannot be taken. */
export async function answerFromRecord(run: DecidedRun, untaken: UntakenDecision): Promise<DecisionReceipt> {
  const { runId, reader } = run;
  const { callId, code, isOwner } = untaken;
  const own = await recordedDecision(run.client, runId, reader.chain, untaken);
  const { found, of } = own.type === 'unknown' && !isOwner ? await recordedBelow(run, untaken) : { found: own, of: runId };
  const answer = receiptOf(found, of, untaken);
  if (answer !== undefined) return answer;
  if (found.type === 'waited' && code === 'run_ended')
    throw new LonghaulError('run_ended', `Run "${runId}" has ended, and call "${callId}" had no decision`);
  if (code === 'run_ended')
    throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" has waited for a decision, and the run has ended`);
  const { pending } = await reader.approvals();
  const waiting = pending.map((one) => `"${one.callId}" (${one.toolName})`);
  const instead = waiting.length === 0 ? 'no call does' : `the waiting calls are ${waiting.join(', ')}`;
  throw new LonghaulError('unknown_call', `No call "${callId}" of run "${runId}" waits for a decision: ${instead}`);
}

/** Looks for a decision in the records of the runs below a run. */
async function recordedBelow(
  { client, runId }: DecidedRun,
  sought: Pick<Decision, 'callId' | 'id'>,
): Promise<{ found: RecordedDecision; of: string }> {
  for (const { run } of await readTreeRuns(client, runId)) {
    if (run.runId === runId) continue;
    const found = await recordedDecision(client, run.runId, run.reader.chain, sought);
    if (found.type !== 'unknown') return { found, of: run.runId };
  }
  return { found: { type: 'unknown' }, of: runId };
}

/** Returns the outcome that a decision had; undefined if it had none. Throws if the call was decided otherwise, or the decision was refused. */
function receiptOf(
  found: RecordedDecision,
  runId: string,
  { type, callId, id }: Pick<Decision, 'type' | 'callId' | 'id'>,
): DecisionReceipt | undefined {
  if (found.type === 'refused') {
    const { code, message } = found.refused;
    throw new LonghaulError(isErrorCode(code) ? code : 'not_authorized', message);
  }
  if (found.type !== 'decided') return undefined;
  const { decision } = found;
  if (decision.id === id && decision.type === type && decision.callId === callId)
    return { version: 1, status: 'repeated', decision: withoutContent(decision) };
  const { code, message } = alreadyDecided(runId, decision);
  throw new LonghaulError(code, message);
}
