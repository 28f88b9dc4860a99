// Tool phase: predicates of approval after the deps have changed.

import type { RunPorts, ToolOutcome } from '../ports.ts';
import type { PreparedCall } from './prepare-call.ts';
import type { ToolBatch } from './tool-batch.ts';

type ExecutableCall = PreparedCall & { type: 'execute' };

/** True for a call whose predicate was called before earlier calls changed the deps. */
export function isToReevaluate(one: PreparedCall | undefined, { outcomes }: ToolBatch): one is ExecutableCall {
  if (one?.type !== 'execute' || one.requirement !== undefined || one.askedAgain) return false;
  return one.invocation.tool.approval?.when === 'predicate' && outcomes.some(hasChangedDeps);
}

/** Calls the predicate of a call again, with the current deps. */
export async function reevaluatePredicate(ports: RunPorts, one: ExecutableCall): Promise<ExecutableCall> {
  const requirement = await ports.askTerms(one.invocation);
  return { ...one, askedAgain: true, ...(requirement === undefined ? {} : { requirement }) };
}

function hasChangedDeps(outcome: ToolOutcome | null): boolean {
  return outcome?.type === 'result' && outcome.applied === true && outcome.contextUpdate !== undefined;
}
