import type { PendingApproval } from '../domain/approvals.ts';
import type { Capability } from '../kernel/capability.ts';
import type { RunPorts } from '../kernel/ports.ts';
import { noteError, type RunState } from '../kernel/run-state.ts';

// Capability: people are told that a run waits for them.

export interface NotificationPorts extends RunPorts {
  /** Calls the worker's `notify` for a pending approval. Only if the snapshot says so. */
  notify(waiting: PendingApproval): Promise<NotifyOutcome>;
}

export type NotifyOutcome =
  | { type: 'notified' }
  /** The notification failed for good. */
  | { type: 'failed'; message: string }
  /** The notification was not completed, because the run is cancelled. */
  | { type: 'cancelled' };

/**
 * Starts a notification without waiting for it, because a decision may come first. The next execution repeats it if it has not
 * completed by then: each is delivered at least once.
 */
function begin(state: RunState, ports: NotificationPorts, waiting: PendingApproval): void {
  if (state.snapshot.notify && waiting.notified === undefined) void send(state, ports, waiting);
}

async function send(state: RunState, ports: NotificationPorts, waiting: PendingApproval): Promise<void> {
  const outcome = await ports.notify(waiting);
  if (outcome.type === 'cancelled') return;
  waiting.notified = outcome.type === 'notified';
  if (outcome.type === 'notified') return;
  noteError(state, `"notify" could not tell that call "${waiting.callId}" of "${waiting.toolName}" waits: ${outcome.message}`);
  ports.noted?.(state);
}

/** Notes that the worker's `notifyEnded` has failed for good, so that views of the run show it. */
export function noteNotifyEndedFailure(state: RunState, message: string): void {
  noteError(state, `"notifyEnded" could not tell that the run has ended: ${message}`);
}

export const notifications: Capability<NotificationPorts> = { name: 'notifications', decisionAwaited: begin };
