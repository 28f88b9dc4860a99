import { sessionOf } from '../domain/sessions.ts';
import type { Capability } from '../kernel/capability.ts';
import type { RunState } from '../kernel/run-state.ts';
import { SESSION_SLICES } from '../sessions/open-session.ts';

// Capability: a run that stays open between its answers. Its turns are in `src/core/sessions`.

/** Returns the steps of the run before the current turn: limits and results count the turn's steps only. */
function stepsBefore(state: RunState): number {
  return sessionOf(state)?.turn?.stepsBefore ?? 0;
}

export const sessions: Capability = {
  name: 'sessions',
  slices: SESSION_SLICES,
  // The next turn answers them.
  keepsMessages: (state) => sessionOf(state) !== undefined,
  /** Raised limits apply until the end of the current turn, or else of the next one. */
  limitsRaised(state) {
    const session = sessionOf(state);
    if (session !== undefined) session.unraised ??= state.limits;
  },
  raiseTaken(state, raise) {
    const session = sessionOf(state);
    if (session !== undefined && raise.session !== undefined) session.limits = { ...session.limits, ...raise.session };
  },
  withOthers(state, used) {
    const before = stepsBefore(state);
    return before === 0 ? used : { ...used, steps: used.steps - before };
  },
  countParts: (state) => ({ stepsUsed: state.context.currentStep - stepsBefore(state) }),
};
