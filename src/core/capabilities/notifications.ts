import type { PendingApproval } from '../domain/approvals.ts';
import type { Capability } from '../kernel/capability.ts';
import type { RunPorts } from '../kernel/ports.ts';
import { noteError, type RunState } from '../kernel/run-state.ts';

// Capability: notifies people that a run waits for them.

export interface NotificationPorts extends RunPorts {
  /** Calls the worker's `notify` for a pending approval. Only if the snapshot requires it. */
  notify(waiting: PendingApproval): Promise<NotifyOutcome>;
}

export type NotifyOutcome =
  | { type: 'notified' }
  /** The notification failed permanently. */
  | { type: 'failed'; message: string }
  /** The notification was not completed because the run is cancelled. */
  | { type: 'cancelled' };

/**
 * Starts a notification without waiting for it, because a decision may come first. The next execution repeats it if it has not completed by
 * then: each notification is delivered at least once.
 */
function begin(state: RunState, ports: NotificationPorts, waiting: PendingApproval): void {
  if (state.snapshot.notify && waiting.notified === undefined) void send(state, ports, waiting);
}

async function send(state: RunState, ports: NotificationPorts, waiting: PendingApproval): Promise<void> {
  const outcome = await ports.notify(waiting);
  if (outcome.type === 'cancelled') return;
  waiting.notified = outcome.type === 'notified';
  if (outcome.type === 'notified') return;
  noteError(state, `"notify" could not report that call "${waiting.callId}" of "${waiting.toolName}" waits: ${outcome.message}`);
  ports.noted?.(state);
}

/** Records that the worker's `notifyEnded` has failed permanently, for views of the run. */
export function noteNotifyEndedFailure(state: RunState, message: string): void {
  noteError(state, `"notifyEnded" could not report that the run has ended: ${message}`);
}

export const notifications: Capability<NotificationPorts> = { name: 'notifications', decisionAwaited: begin };
