import type { BesideModelCall, Capability } from '../kernel/capability.ts';
import { hasFixedDeadline } from '../kernel/limits.ts';
import type { RunPorts } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';

// Capability: the deadline of a run whose model calls wait for batches.

/** Returns the time when the run's deadline passes, including raises that are not applied yet, in milliseconds since the epoch. */
function deadlineOf({ limits, startedAt }: RunState, { inbox }: RunPorts): number {
  const raised = inbox.raises.map(({ limits: { deadlineMs } }) => deadlineMs ?? 0);
  return startedAt + Math.max(limits.deadlineMs ?? Infinity, ...raised);
}

/** Gives up a model call when the run's deadline passes. A raise of the deadline during the wait postpones that. */
async function giveUpAtDeadline(state: RunState, ports: RunPorts, call: { hasEnded: boolean }): Promise<void> {
  for (let at = deadlineOf(state, ports); ; at = deadlineOf(state, ports)) {
    await ports.until(() => call.hasEnded || deadlineOf(state, ports) !== at, { at, summary: 'deadline of the run' });
    if (call.hasEnded) return;
    if (ports.now() >= deadlineOf(state, ports)) return ports.abortModelCall();
    // The wait was cancelled, along with the call.
    if (deadlineOf(state, ports) === at) return;
  }
}

function watchDeadline(state: RunState, ports: RunPorts): BesideModelCall | undefined {
  if (state.snapshot.tier !== 'batch' || state.limits.deadlineMs === undefined || !hasFixedDeadline(state)) return undefined;
  const call = { hasEnded: false };
  const watching = giveUpAtDeadline(state, ports, call);
  return {
    ended: async () => {
      call.hasEnded = true;
      await watching;
      return { record: () => undefined };
    },
  };
}

/**
 * The deadline of a run is checked before each model call, which is soon enough for immediate calls. A call that waits for its batch may
 * wait for a day, so it is given up at the deadline. A run that asks a person at its limits keeps the call, and asks before the next one.
 */
export const batchDeadline: Capability = {
  name: 'batchDeadline',
  duringModelCall: watchDeadline,
};
