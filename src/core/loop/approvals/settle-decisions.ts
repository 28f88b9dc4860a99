// Shared state: applies decisions, for calls (tool phase) and for limits (both phases).

import { alreadyDecided, decider, type Decision, type PendingApproval, type RefusedRequest } from '../../domain/approvals.ts';
import { decide, decidedOf, pendingOf, rememberedFor } from './approvals.ts';
import type { Verdict } from '../state/awaited-verdicts.ts';
import type { Authorization, RunPorts } from '../ports.ts';
import { recordEvent, type RunState } from '../state/run-state.ts';
import { isoTime } from '../../domain/time.ts';

/**
 * Applies the received decisions in their order, then the deadlines that are over, and returns all decisions that took effect.
 * If the snapshot says so, the worker first checks each approver. Each decision is recorded as an event, and so is each one that
 * `authorize` refuses.
 */
export async function settleDecisions(state: RunState, ports: RunPorts): Promise<Decision[]> {
  const settled: Decision[] = [];
  const { decisions } = ports.inbox;
  const count = decisions.length;
  // Awaits only if necessary, because every promise in the sandbox costs a stack trace.
  const verdicts = state.snapshot.authorize && count > 0 ? await authorize(state, ports, decisions) : [];
  for (const [index, decision] of ports.inbox.takeDecisions(count).entries()) {
    const applied = apply(state, ports, decision, verdicts[index]);
    if (applied !== undefined) settled.push(applied, ...settleAlike(state, ports, applied));
  }
  for (const waiting of state.approvals.pending.filter(({ deadlineAt = Infinity }) => deadlineAt <= ports.now())) {
    settled.push(record(state, ports, byDeadline(waiting, ports.now())));
  }
  return settled;
}

/** Applies a remembered decision to the calls that wait already. */
function settleAlike(state: RunState, ports: RunPorts, { remember }: Decision): Decision[] {
  if (remember === undefined) return [];
  const waiting = state.approvals.pending.filter(({ kind }) => kind === 'tool');
  return waiting.map((one) => settleRemembered(state, ports, one)).filter((one) => one !== undefined);
}

function authorize(state: RunState, ports: RunPorts, decisions: readonly Decision[]): Promise<Authorization[]> {
  return Promise.all(
    decisions.map((decision) => {
      const waiting = pendingOf(state.approvals, decision.callId);
      return waiting === undefined ? Promise.resolve<Authorization>({ type: 'authorized', as: '' }) : ports.authorize(decision, waiting);
    }),
  );
}

/** Applies one decision and returns it as recorded; undefined if it has no effect. */
function apply(state: RunState, ports: RunPorts, decision: Decision, verdict: Authorization | undefined): Decision | undefined {
  if (verdict?.type === 'cancelled') return undefined;
  if (verdict?.type === 'refused') {
    refuse(state, ports, decision, {
      code: 'not_authorized',
      message: `Whoever decides about call "${decision.callId}" may not: ${verdict.reason}`,
    });
    return undefined;
  }
  // Another decision may have been applied during the check, or a message may have given the call up.
  if (pendingOf(state.approvals, decision.callId) === undefined) {
    const decided = decidedOf(state.approvals, decision.callId);
    const gone = { code: 'unknown_call', message: `Call "${decision.callId}" of run "${state.runId}" does not wait any more` };
    refuse(state, ports, decision, decided === undefined ? gone : alreadyDecided(state.runId, decided));
    return undefined;
  }
  return record(state, ports, verdict === undefined ? decision : { ...decision, verifiedBy: verdict.as });
}

function record(state: RunState, ports: RunPorts, decision: Decision): Decision {
  decide(state.approvals, decision, laterAgent(state));
  recordEvent(state, ports, { author: decider(decision), content: [], decision });
  answer(state, ports, decision.id, { type: 'decided', decision });
  return decision;
}

function refuse(state: RunState, ports: RunPorts, { id, type, callId, by }: Decision, why: Pick<RefusedRequest, 'code' | 'message'>): void {
  const refused = { request: type, id, callId, ...(by === null ? {} : { by }), ...why };
  recordEvent(state, ports, { author: by ?? 'user', content: [], refused });
  answer(state, ports, id, { type: 'refused', ...why });
}

/** Returns the agent that acts, unless the run began with it. */
function laterAgent({ snapshot, handoffs }: RunState): string | undefined {
  return handoffs === undefined || handoffs.first === snapshot.name ? undefined : snapshot.name;
}

function byDeadline({ callId, toolName, digest, onDeadline, key, proposal }: PendingApproval, now: number): Decision {
  return {
    id: `deadline of ${key}`,
    type: onDeadline === 'approve' ? 'approve' : 'reject',
    callId,
    toolName,
    digest,
    ...(onDeadline === 'approve' && proposal !== undefined ? { arguments: { ...proposal } } : {}),
    ...(onDeadline === 'approve' ? {} : { reason: 'nobody decided before the deadline' }),
    by: null,
    source: 'deadline',
    at: isoTime(now),
  };
}

/** Reports the outcome of a decision to its sender, who waits for it only if the worker checks approvers. */
function answer({ snapshot }: RunState, { inbox }: RunPorts, id: string, verdict: Verdict): void {
  if (snapshot.authorize) inbox.verdicts.settle(id, verdict);
}

/** Applies the remembered decision for a call and returns the new decision; undefined if there is none. */
export function settleRemembered(
  state: RunState,
  ports: RunPorts,
  { callId, toolName, digest }: Pick<PendingApproval, 'callId' | 'toolName' | 'digest'>,
): Decision | undefined {
  const remembered = rememberedFor(state.approvals, toolName, { digest, agent: laterAgent(state) });
  if (remembered === undefined) return undefined;
  const { id, digest: _, agent: __, ...rest } = remembered;
  const at = isoTime(ports.now());
  return record(state, ports, { ...rest, id: `${id} for ${callId}`, callId, digest, source: 'remembered', at });
}
