import { compactWindow, isWindowFull } from './compact.ts';
import type { NextStep, Position } from './next-step.ts';
import type { RunPorts } from './ports.ts';
import type { RunState } from './run-state.ts';
import { isCarriable } from './window-limit.ts';

/** Nothing but messages to the run: its history hardly grows while it waits. */
const WAITING = { events: 4, bytes: 1_000 };

/**
 * Waits while the run is paused. A cancellation ends the wait, and a history that is full of what happened meanwhile
 * makes the run go on waiting in the next execution.
 */
export async function waitWhilePaused(state: RunState, ports: RunPorts, position: Position): Promise<NextStep | undefined> {
  while (ports.paused() && !ports.cancelRequested()) {
    if (state.status !== 'paused') {
      state.status = 'paused';
      ports.recorded?.(state);
    }
    if (ports.continueDue(WAITING)) {
      // What the last step has brought may be too much to carry: the one thing that a paused run does is to shorten it.
      const ended = isWindowFull(state, ports) ? await compactWindow(state, ports) : undefined;
      if (ended !== undefined) return ended;
      if (isCarriable(state)) return { type: 'continue', position };
    }
    await ports.idle();
  }
  state.status = 'running';
  return undefined;
}
