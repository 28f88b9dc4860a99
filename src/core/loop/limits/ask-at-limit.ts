// Shared state: asks a person at a limit, before a model call and before tool calls.

import { RAISE_LIMITS, type PendingApproval } from '../../domain/approvals/approval.ts';
import type { LimitChanges, LimitReached } from '../../domain/agent/limits.ts';
import { deadlineOf } from '../approvals/approvals.ts';
import { endAtLimit } from '../endings.ts';
import { raised } from './limits.ts';
import { takeRequests } from '../messages.ts';
import type { NextStep, Position } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { settleDecisions } from '../approvals/settle-decisions.ts';
import { requestDecision, showWaiting, notifyAgain, WAITING, waitForChange } from '../approvals/wait-for-decisions.ts';
import { fitsContinueAsNew } from '../compaction/window-limit.ts';

/**
 * What happens at a limit: the run ends, or a person is asked to raise it. Undefined once it is raised, by an approval
 * or by `raise`; `again` says whether there still is one.
 */
export async function askAtLimit(
  state: RunState,
  ports: RunPorts,
  position: Position,
  again: () => LimitReached | undefined,
): Promise<NextStep | undefined> {
  notifyAgain(state, ports);
  for (;;) {
    const { received } = ports.inbox;
    takeRequests(state, ports);
    const [decision] = await settleDecisions(state, ports);
    if (decision?.type === 'approve') state.limits = raised(state.limits, decision.arguments as LimitChanges);
    const reached = again();
    if (reached === undefined || ports.cancelRequested()) break;
    if (decision?.type === 'reject') return refused(state, ports, reached);
    if (state.limits.onLimit !== 'ask') return endAtLimit(state, reached.stopReason);
    // Raised, and yet at another limit: what was asked before is not the question any more.
    if (state.approvals.pending[0]?.reason !== reached.message) {
      state.approvals.pending = [];
      requestDecision(state, ports, limitApproval(state, ports, reached));
    }
    showWaiting(state, ports);
    if (ports.continueDue(WAITING) && fitsContinueAsNew(state)) return { type: 'continue', position };
    await waitForChange(state, ports, { received, ended: () => 0 });
  }
  state.approvals.pending = [];
  showWaiting(state, ports);
  return undefined;
}

function refused(state: RunState, ports: RunPorts, { stopReason }: LimitReached): NextStep {
  state.approvals.pending = [];
  showWaiting(state, ports);
  return endAtLimit(state, stopReason);
}

function limitApproval({ window, snapshot, context }: RunState, ports: RunPorts, { message, proposal }: LimitReached): PendingApproval {
  const callId = `limit-${window.through}`;
  return {
    kind: 'limit',
    callId,
    toolName: RAISE_LIMITS,
    // What is proposed follows from the record so far: the number of its events says which record that is.
    digest: `${callId}/${JSON.stringify(proposal)}`,
    key: callId,
    step: context.currentStep + 1,
    requestedAt: ports.now(),
    // Approved by the clock, whatever the agent says of its calls, a limit would raise itself again and again.
    ...deadlineOf({ ...snapshot.approvals, onDeadline: 'deny' }, ports.now()),
    reason: message,
    proposal,
  };
}
