import type { ProgramState } from './program-state.ts';

/** Returns the ids of the children that a program waits for, in the order of their steps. */
export function childrenOf(program: Pick<ProgramState, 'steps'> | undefined): string[] {
  return [...(program?.steps.values() ?? [])].flatMap(({ progress }) => progress?.child?.runId ?? []);
}
