// Tool phase: calls whose outcome is unknown.

import { deadlineOf } from '../approvals/approvals.ts';
import type { RunPorts } from '../ports.ts';
import type { Acting } from './prepare-call.ts';
import type { ToolBatch } from './tool-batch.ts';
import { requestDecision } from '../approvals/wait-for-decisions.ts';

/** The reason that the person reads. */
const REASON = 'The call was started and its answer was lost. Find out whether it took effect, and respond with what it gave, or reject.';

/** Asks a person about the calls whose outcome is unknown, if the agent says so. Those calls wait for the answer. */
export function askAboutOutcomes({ state }: Acting, ports: RunPorts, { prepared, outcomes }: ToolBatch): void {
  if (state.snapshot.onUnknownOutcome !== 'ask' || ports.cancelRequested()) return;
  for (const [position, one] of prepared.entries()) {
    const outcome = outcomes[position];
    if (one.type !== 'execute' || outcome?.type !== 'result' || !outcome.isUnknown || outcome.applied) continue;
    outcomes[position] = null;
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
      // A deadline cannot say that the call took effect.
      ...deadlineOf({ ...state.snapshot.approvals, onDeadline: 'reject' }, now),
      reason: REASON,
    });
  }
}
