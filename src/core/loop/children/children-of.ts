// Shared state: those that are alive.

import type { RunState } from '../state/run-state.ts';

/** Returns the ids of the children that a run waits for, in the order of the steps of a program or of their starts. */
export function childrenOf(state: Pick<RunState, 'program' | 'children'> | undefined): string[] {
  const ofSteps = [...(state?.program?.steps.values() ?? [])].flatMap(({ progress }) => progress?.child?.runId ?? []);
  return [...ofSteps, ...(state?.children ?? []).map(({ runId }) => runId)];
}

/** True for a run that may start others. */
export function mayHaveChildren({ program, snapshot }: Pick<RunState, 'program' | 'snapshot'>): boolean {
  return program !== undefined || snapshot.tools.some(({ agent }) => agent !== undefined);
}
