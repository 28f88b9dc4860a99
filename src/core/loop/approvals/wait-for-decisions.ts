// Shared state: waits for decisions, for calls (tool phase) and for limits (both phases).

import type { PendingApproval } from '../../domain/approvals/approval.ts';
import type { RunPorts, WaitDeadline } from '../ports.ts';
import { noteError, type RunState } from '../state/run-state.ts';

/** Nothing but decisions and messages come to a run that waits: its history hardly grows. */
export const WAITING = { events: 4, bytes: 1_000 };

/** Begins to wait for a decision: the run shows it, and whoever is to be told of it is told. */
export function requestDecision(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
  state.approvals.pending.push(waiting);
  tell(state, ports, waiting);
}

/** Tells again what may not have been told in the execution before: at least once. */
export function notifyAgain(state: RunState, ports: RunPorts): void {
  for (const waiting of state.approvals.pending) if (waiting.notified === undefined) tell(state, ports, waiting);
}

/** Not waited for: a decision may come first. What is not told when the run goes on in the next execution is told there. */
function tell(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
  if (state.snapshot.notify) void told(state, ports, waiting);
}

async function told(state: RunState, ports: RunPorts, waiting: PendingApproval): Promise<void> {
  const outcome = await ports.notify(waiting);
  if (outcome.type === 'cancelled') return;
  waiting.notified = outcome.type === 'told';
  if (outcome.type === 'told') return;
  noteError(state, `"notify" could not tell that call "${waiting.callId}" of "${waiting.toolName}" waits: ${outcome.message}`);
  ports.noted?.(state);
}

/** Makes the status follow what waits, and shows it where it has changed. */
export function showWaiting(state: RunState, ports: RunPorts): void {
  const status = state.approvals.pending.length > 0 ? 'pending_confirmation' : 'running';
  if (status === state.status && status === 'running') return;
  state.status = status;
  ports.recorded?.(state);
}

/** What has happened so far, as far as whoever waits has seen it. */
export interface Seen {
  /** Of the inbox, before anything was taken from it. */
  received: number;
  /** Calls that have ended. */
  ended: () => number;
}

/**
 * Waits until something has come from outside, `ended` has grown, the run is cancelled, or the nearest deadline is over:
 * of what waits, or of the run itself. What has come since `arrivals` were counted is not waited for once more: whoever
 * decides may have been checked meanwhile, or a predicate been asked.
 */
export async function waitForChange(state: RunState, ports: RunPorts, seen: Seen): Promise<void> {
  const { received } = ports.inbox;
  if (received > seen.received && ports.allows('late-arrivals')) return;
  const { ended } = seen;
  const before = ended();
  await ports.until(() => ports.inbox.received > received || ended() > before, nearestDeadline(state, ports.now()));
}

/** The next deadline to come. That of the run ends a wait, unless a person is asked at limits anyway. */
export function nearestDeadline(state: RunState, now: number): WaitDeadline | undefined {
  const { limits, startedAt, approvals } = state;
  const deadlines: WaitDeadline[] = approvals.pending.flatMap(({ deadlineAt, toolName }) =>
    deadlineAt === undefined ? [] : [{ at: deadlineAt, summary: `deadline of the decision on ${toolName}` }],
  );
  if (limits.deadlineMs !== undefined && limits.onLimit !== 'ask') {
    deadlines.push({ at: startedAt + limits.deadlineMs, summary: 'deadline of the run' });
  }
  return deadlines.filter(({ at }) => at > now).toSorted((a, b) => a.at - b.at)[0];
}
