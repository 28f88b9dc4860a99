// Shared state: waits for decisions, for calls (tool phase) and for limits (both phases).

import type { PendingApproval } from '../../domain/approvals.ts';
import { hasFixedDeadline } from '../limits/part-of-parent.ts';
import type { RunPorts, WaitDeadline } from '../ports.ts';
import { noteError, type RunState } from '../state/run-state.ts';

/** The growth of the history of a waiting run, which receives only decisions and messages. */
export const WAITING = { events: 4, bytes: 1_000 };

/** Adds a pending approval, and calls the worker's `notify` hook for it. */
export function requestDecision(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
  state.approvals.pending.push(waiting);
  startNotification(state, ports, waiting);
}

/** Repeats the notifications that may not have completed in the execution before: each is delivered at least once. */
export function notifyAgain(state: RunState, ports: RunPorts): void {
  for (const waiting of state.approvals.pending) if (waiting.notified === undefined) startNotification(state, ports, waiting);
}

/**
 * Starts a notification without waiting for it, because a decision may come first. The next execution repeats it if it has not
 * completed by then.
 */
function startNotification(state: RunState, ports: RunPorts, waiting: PendingApproval): void {
  if (state.snapshot.notify) void notify(state, ports, waiting);
}

async function notify(state: RunState, ports: RunPorts, waiting: PendingApproval): Promise<void> {
  const outcome = await ports.notify(waiting);
  if (outcome.type === 'cancelled') return;
  waiting.notified = outcome.type === 'notified';
  if (outcome.type === 'notified') return;
  noteError(state, `"notify" could not tell that call "${waiting.callId}" of "${waiting.toolName}" waits: ${outcome.message}`);
  ports.noted?.(state);
}

/** Sets the status according to the pending approvals, of the run and of its children, and informs observers. */
export function showWaiting(state: RunState, ports: RunPorts): void {
  const isWaiting = state.approvals.pending.length > 0 || ports.inbox.hasWaitingChild;
  const status = isWaiting ? 'pending_confirmation' : 'running';
  if (status === state.status && status === 'running') return;
  state.status = status;
  ports.recorded?.(state);
}

/** The requests and ended calls that the loop has handled before it waits. */
export interface HandledSoFar {
  /** The inbox's count of requests, before any was taken from it. */
  received: number;
  /** Returns the number of calls that have ended. */
  ended: () => number;
}

/**
 * Waits until a request arrives, `ended` has grown, the run is cancelled, or the nearest deadline is over, of a pending approval or
 * of the run itself. Returns at once if a request has arrived since `received` was read, for example while the worker checked an
 * approver or evaluated a predicate.
 */
export async function waitForChange(state: RunState, ports: RunPorts, handled: HandledSoFar): Promise<void> {
  const { received } = ports.inbox;
  if (received > handled.received) return;
  const { ended } = handled;
  const before = ended();
  await ports.until(() => ports.inbox.received > received || ended() > before, nearestDeadline(state, ports.now()));
}

/** Returns the next deadline. The deadline of the run ends a wait only if it ends the run without asking a person. */
export function nearestDeadline(state: RunState, now: number): WaitDeadline | undefined {
  const { limits, startedAt, approvals } = state;
  const deadlines: WaitDeadline[] = approvals.pending.flatMap(({ deadlineAt, toolName }) =>
    deadlineAt === undefined ? [] : [{ at: deadlineAt, summary: `deadline of the decision on ${toolName}` }],
  );
  if (limits.deadlineMs !== undefined && hasFixedDeadline(state)) {
    deadlines.push({ at: startedAt + limits.deadlineMs, summary: 'deadline of the run' });
  }
  return deadlines.filter(({ at }) => at > now).toSorted((a, b) => a.at - b.at)[0];
}
