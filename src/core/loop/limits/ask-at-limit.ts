// Shared state: asks a person at a limit, before a model call and before tool calls.

import { type PendingApproval, RAISE_LIMITS } from '../../domain/approvals.ts';
import type { LimitChanges, LimitReached } from '../../domain/limits.ts';
import { deadlineOf } from '../approvals/approvals.ts';
import { endAtLimit } from '../endings/endings.ts';
import { raiseLimits } from './limits.ts';
import { raisable } from './part-of-parent.ts';
import { takeRequests } from '../requests/messages.ts';
import type { NextStep, Position } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { settleDecisions } from '../approvals/settle-decisions.ts';
import { requestDecision, showWaiting, notifyAgain, WAITING, waitForChange } from '../approvals/wait-for-decisions.ts';
import { fitsContinueAsNew } from '../compaction/window-limit.ts';

/**
 * Handles a reached limit: ends the run, or asks a person to raise the limit. Returns undefined once it is raised, by an approval or
 * by `raise`. `currentLimit` returns the limit that is reached now, if any.
 */
export async function askAtLimit(
  state: RunState,
  ports: RunPorts,
  position: Position,
  currentLimit: () => LimitReached | undefined,
): Promise<NextStep | undefined> {
  notifyAgain(state, ports);
  for (;;) {
    const { received } = ports.inbox;
    takeRequests(state, ports);
    const [decision] = await settleDecisions(state, ports);
    if (decision?.type === 'approve') raiseLimits(state, decision.arguments as LimitChanges);
    const reached = currentLimit();
    if (reached === undefined || ports.cancelRequested()) break;
    if (decision?.type === 'reject') return refused(state, ports, reached);
    const raise = raisable(state, reached);
    if (state.limits.onLimit !== 'ask' || raise === undefined) return endAtLimit(state, reached.stopReason);
    // The limit was raised and another one is reached: the pending approval is replaced.
    if (state.approvals.pending[0]?.reason !== reached.message) {
      state.approvals.pending = [];
      requestDecision(state, ports, limitApproval(state, ports, raise));
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

/** Returns the pending approval that asks a person to raise a limit. */
export function limitApproval(
  { window, snapshot, context }: RunState,
  ports: RunPorts,
  { message, proposal }: LimitReached,
): PendingApproval {
  const callId = `limit-${window.through}`;
  return {
    kind: 'limit',
    callId,
    toolName: RAISE_LIMITS,
    // The proposal follows from the record, which the number of its events identifies.
    digest: `${callId}/${JSON.stringify(proposal)}`,
    key: callId,
    step: context.currentStep + 1,
    requestedAt: ports.now(),
    // Always rejected at the deadline, because a limit approved by its deadline would be raised again and again.
    ...deadlineOf({ ...snapshot.approvals, onDeadline: 'reject' }, ports.now()),
    reason: message,
    proposal,
  };
}
