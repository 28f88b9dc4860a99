// Programs: the steps whose children wait for a person.

import type { ProgramState } from '../../domain/program-run.ts';
import { parseAddress } from './address.ts';

/** Returns the steps of a program whose children are among those, as `unit.step`: one for all items of a `forEach`. */
export function waitingSteps(program: Pick<ProgramState, 'steps'> | undefined, waitingChildren: readonly string[]): string[] {
  if (program === undefined || waitingChildren.length === 0) return [];
  const waiting = new Set(waitingChildren);
  const found = new Set<string>();
  for (const [at, { progress }] of program.steps) {
    if (progress?.child === undefined || !waiting.has(progress.child.runId)) continue;
    const { unit, step } = parseAddress(at);
    found.add(`${unit}.${step}`);
  }
  return [...found];
}
