import type { Client } from '@temporalio/client';
import type { Decision, RefusedRequest } from '../../core/domain/approvals/approval.ts';
import { readExecution } from '../../history/read-run.ts';
import type { RunChain } from '../read/run-chain.ts';

/** What the record of a run says of a call. */
export type RecordedDecision =
  /** By the decision of that id, or by another one: who looks compares. */
  | { type: 'decided'; decision: Decision }
  /** The decision of that id was refused when its author was checked, or came too late. */
  | { type: 'refused'; refused: RefusedRequest }
  /** It has waited, and nobody has decided. */
  | { type: 'waited' }
  /** No call of that id has ever waited. */
  | { type: 'unknown' };

/** Looks for a decision, by its id or by the id of the call that it is about, in all executions of a run that are left; the newest first. */
export async function recordedDecision(
  client: Client,
  runId: string,
  chain: RunChain,
  { id, callId }: { id: string; callId: string },
): Promise<RecordedDecision> {
  let found: RecordedDecision = { type: 'unknown' };
  for (const { executionId } of (await chain.executions()).toReversed()) {
    const read = await readExecution(client, runId, executionId);
    if (read === undefined) break;
    const decision = read.events.findLast(({ decision: one }) => one?.id === id || one?.callId === callId)?.decision;
    if (decision !== undefined) return { type: 'decided', decision };
    const refused = read.events.findLast(({ refused: one }) => one?.id === id && one.callId === callId)?.refused;
    if (refused !== undefined && found.type !== 'refused') found = { type: 'refused', refused };
    if (found.type === 'unknown' && read.run.waited.has(callId)) found = { type: 'waited' };
  }
  return found;
}
