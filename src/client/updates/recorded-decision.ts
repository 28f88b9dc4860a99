import type { Client } from '@temporalio/client';
import type { Decision, RefusedRequest } from '../../core/domain/approvals/approval.ts';
import { readExecution } from '../../history/read-run.ts';
import type { RunChain } from '../read/chain.ts';

/** The outcome of a call according to the record of the run. */
export type RecordedDecision =
  /** Decided by the decision with that id, or by another one: the caller compares. */
  | { type: 'decided'; decision: Decision }
  /** The decision with that id was refused by `authorize`, or came too late. */
  | { type: 'refused'; refused: RefusedRequest }
  /** The call has waited, and has no decision. */
  | { type: 'waited' }
  /** No call with that id has ever waited. */
  | { type: 'unknown' };

/** Looks for a decision, by its id or by the id of its call, in all executions of a run that are left, the newest first. */
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
