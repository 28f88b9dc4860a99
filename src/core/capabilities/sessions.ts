import type { Capability } from '../kernel/capability.ts';
import type { RunState } from '../kernel/run-state.ts';

// Capability: a run that stays open between its answers. Its turns are in `src/core/sessions`.

/** Returns the steps of the run before the present turn: limits and results are about those of a turn. */
function stepsBefore({ session }: RunState): number {
  return session?.turn?.stepsBefore ?? 0;
}

export const sessions: Capability = {
  name: 'sessions',
  // The next turn answers them.
  keepsMessages: ({ session }) => session !== undefined,
  /** Raised limits hold until the current turn has ended, or else the next one. */
  limitsRaised({ session, limits }) {
    if (session !== undefined) session.unraised ??= limits;
  },
  raiseTaken({ session }, raise) {
    if (session !== undefined && raise.session !== undefined) session.limits = { ...session.limits, ...raise.session };
  },
  withOthers(state, used) {
    const before = stepsBefore(state);
    return before === 0 ? used : { ...used, steps: used.steps - before };
  },
  countParts: (state) => ({ stepsUsed: state.context.currentStep - stepsBefore(state) }),
};
