// Shared state: the part of the limits of its parent that a run has been given. No raise exceeds it.

import { type LimitChanges, limitNumbers, type LimitReached, toolLimitName } from '../../domain/limits.ts';
import type { RunState } from '../state/run-state.ts';

type OfParent = Pick<RunState, 'limits' | 'parent'>;

/** Returns why changes of the limits would exceed the part that the run has been given; undefined if they do not. */
export function abovePart(state: OfParent, changes: LimitChanges): string | undefined {
  const { limits, parent } = state;
  const within = withinPart(state, changes);
  for (const [name, most] of limitNumbers(within)) {
    if (most === limitNumbers(changes).get(name)) continue;
    return (
      `limit "${name}" is ${limitNumbers(limits).get(name) ?? most}, and the run has been given ${most} of the limit of run "${parent?.runId}", ` +
      'which started it: a child keeps its part. Raise the limit of the root: the runs that start after that get more of it'
    );
  }
  return undefined;
}

/** Returns a reached limit with a proposal within that part; undefined if the limit cannot be raised. */
export function raisable(state: OfParent, reached: LimitReached): LimitReached | undefined {
  if (state.parent?.left === undefined) return reached;
  const proposal = withinPart(state, reached.proposal);
  const now = limitNumbers(state.limits);
  return [...limitNumbers(proposal)].some(([name, value]) => value > (now.get(name) ?? Infinity)) ? { ...reached, proposal } : undefined;
}

/** True if no person can be asked to raise the deadline of the run: the run does not ask, or has the deadline of the run above. */
export function hasFixedDeadline({ limits, parent }: OfParent): boolean {
  return limits.onLimit !== 'ask' || (parent?.left?.deadlineMs ?? Infinity) <= (limits.deadlineMs ?? Infinity);
}

/** Returns changes of which none exceeds the part. */
function withinPart({ limits, parent }: OfParent, { toolCallsByName, ...changes }: LimitChanges): LimitChanges {
  const most = limitNumbers(parent?.left ?? {});
  const bound = (name: string, value: number): number => {
    // The final attempt is one of the steps that the run has been given.
    const final = name === 'steps' && limits.finalAttempt ? 1 : 0;
    return Math.min(value, (most.get(name) ?? Infinity) - final);
  };
  const byTool = Object.entries(toolCallsByName ?? {}).map(([tool, value]) => [tool, bound(toolLimitName(tool), value)]);
  return {
    ...Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, bound(name, value)])),
    ...(toolCallsByName === undefined ? {} : { toolCallsByName: Object.fromEntries(byTool) }),
  };
}
