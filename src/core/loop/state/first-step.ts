// Shared state: the steps in which the choice of a tool holds.

import type { RunState } from './run-state.ts';

type Acting = Pick<RunState, 'snapshot' | 'handoffs' | 'context' | 'session'>;

/** True if the agent requires a call of a tool in the first step of a turn alone, and the next step is one. */
export function isFirstStep(state: Acting): boolean {
  if (!choosesOnce(state)) return false;
  const { snapshot, handoffs, context, session } = state;
  // In a run of several agents, each has a first step of its own.
  if (handoffs !== undefined) return !(handoffs.acted ?? []).includes(snapshot.name);
  return context.currentStep === (session?.turn?.stepsBefore ?? 0);
}

/** Notes that the agent has answered in this turn. */
export function noteActed(state: Acting): void {
  const { snapshot, handoffs } = state;
  if (handoffs !== undefined && isFirstStep(state)) handoffs.acted = [...(handoffs.acted ?? []), snapshot.name];
}

/** Notes that an agent, or each one, begins a turn. */
export function forgetActed({ handoffs }: Pick<RunState, 'handoffs'>, name?: string): void {
  if (handoffs?.acted === undefined) return;
  const left = name === undefined ? [] : handoffs.acted.filter((one) => one !== name);
  if (left.length > 0) handoffs.acted = left;
  else delete handoffs.acted;
}

/** True if the choice of the agent holds for the first step of a turn alone. */
export function choosesOnce({ snapshot: { settings } }: Pick<RunState, 'snapshot'>): boolean {
  const { toolChoice } = settings;
  return toolChoice === 'required' || (typeof toolChoice === 'object' && !('every' in toolChoice && toolChoice.every));
}
