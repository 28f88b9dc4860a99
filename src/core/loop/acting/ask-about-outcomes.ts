import { deadlineOf } from '../approvals/approvals.ts';
import type { RunPorts } from '../ports.ts';
import type { Acting } from './prepare-call.ts';
import type { DecidedBatch } from './started-calls.ts';
import { requestDecision } from '../approvals/wait-for-decisions.ts';

/** Why somebody is asked. */
const REASON = 'The call was started and its answer was lost. Find out whether it took effect, and respond with what it gave, or reject.';

/** Asks a person what became of calls of which nobody knows, where the agent says so: they wait instead of having an unknown outcome. */
export function askAboutOutcomes({ state }: Acting, ports: RunPorts, { prepared, outcomes }: DecidedBatch): void {
  if (state.snapshot.onUnknownOutcome !== 'ask' || ports.cancelRequested()) return;
  for (const [place, one] of prepared.entries()) {
    const outcome = outcomes[place];
    if (one.type !== 'execute' || outcome?.type !== 'result' || !outcome.isUnknown || outcome.applied) continue;
    outcomes[place] = null;
    const { call, tool, eventId, index, step } = one.invocation;
    const now = ports.now();
    requestDecision(state, ports, {
      kind: 'outcome',
      callId: call.toolCallId,
      toolName: tool.name,
      digest: `outcome/${eventId}/${index}`,
      key: `${eventId}/${index}/outcome`,
      step,
      requestedAt: now,
      // The clock knows as little as anybody else.
      ...deadlineOf({ ...state.snapshot.approvals, onDeadline: 'reject' }, now),
      reason: REASON,
    });
  }
}
