// Model phase: the wait of a paused run before it.

import { compactWindow, isWindowFull } from '../compaction/compact.ts';
import { endsByDeadline, limitReached } from '../limits/limits.ts';
import { takeRequests } from './messages.ts';
import type { NextStep, StepPosition } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { nearestDeadline, WAITING } from '../approvals/wait-for-decisions.ts';
import { fitsContinueAsNew } from '../compaction/window-limit.ts';

/**
 * Waits while the run is paused. A cancellation ends the wait, and so does the deadline of the run, unless a person is asked at
 * limits. If the history becomes full meanwhile, the run goes on waiting in the next execution.
 */
export async function waitWhilePaused(state: RunState, ports: RunPorts, position: StepPosition): Promise<NextStep | undefined> {
  const { inbox } = ports;
  while (inbox.paused && !ports.cancelRequested() && !endsByDeadline(state, ports.now())) {
    if (state.status !== 'paused') {
      state.status = 'paused';
      ports.recorded?.(state);
    }
    if (ports.continueDue(WAITING)) {
      // The results of the last step may be too large to carry. Compacting them is the only work that a paused run does.
      const isToShorten = isWindowFull(state, ports) && limitReached(state, ports.now(), position) === undefined;
      const ended = isToShorten ? await compactWindow(state, ports) : undefined;
      if (ended !== undefined) return ended;
      if (fitsContinueAsNew(state)) return { type: 'continue', position };
    }
    const { received } = inbox;
    await ports.until(() => !inbox.paused || inbox.received > received, nearestDeadline(state, ports.now()));
    takeRequests(state, ports);
  }
  state.status = 'running';
  return undefined;
}
