import type { RunPorts, ToolOutcome } from '../ports.ts';
import type { PreparedCall } from './prepare-call.ts';

/** The calls of a response in their order, and what has come of them. */
interface Calls {
  prepared: PreparedCall[];
  outcomes: readonly (ToolOutcome | null)[];
}

/**
 * A predicate said what it thought of a call before the calls ahead of it had changed the deps: it is asked again, and
 * the call gets the terms that it says now. True where the call has to wait for a decision after all.
 */
export async function reevaluatePredicate(ports: RunPorts, { prepared, outcomes }: Calls, index: number | undefined): Promise<boolean> {
  const one = index === undefined ? undefined : prepared[index];
  if (index === undefined || one === undefined || !isToAskAgain(one, outcomes)) return false;
  const terms = await ports.askTerms(one.invocation);
  prepared[index] = { ...one, askedAgain: true, ...(terms === undefined ? {} : { terms }) };
  return terms !== undefined;
}

function isToAskAgain(one: PreparedCall, outcomes: Calls['outcomes']): one is PreparedCall & { type: 'execute' } {
  if (one.type !== 'execute' || one.terms !== undefined || one.askedAgain) return false;
  return one.invocation.tool.approval?.when === 'predicate' && outcomes.some(hasChangedDeps);
}

function hasChangedDeps(outcome: ToolOutcome | null): boolean {
  return outcome?.type === 'result' && outcome.applied === true && outcome.contextUpdate !== undefined;
}
