// Children: the limits of the tree of runs.

import { DEFAULT_TREE_LIMITS, type TreeLimits } from '../domain/limits.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** Returns the limits that hold for the runs below a run: its own, and none higher than those of the run above. */
export function treeLimitsOf({ snapshot, parent }: Pick<RunState, 'snapshot' | 'parent'>): TreeLimits {
  const { depth, alive, perTree } = { ...DEFAULT_TREE_LIMITS, ...snapshot.children };
  const above = parent?.tree;
  if (above === undefined) return { depth, alive, runs: perTree - 1 };
  return {
    depth: Math.min(above.depth, (parent?.depth ?? 0) + depth),
    alive: Math.min(above.alive, alive),
    runs: Math.min(above.runs, perTree - 1),
  };
}

/** Returns the number of runs that may still be started below a run, beside those that its children have been given. */
export function runsLeft(state: Pick<RunState, 'snapshot' | 'parent' | 'children' | 'below'>): number {
  const { children = [], below } = state;
  const held = children.reduce((sum, { runs }) => sum + 1 + runs, 0);
  return treeLimitsOf(state).runs - (below?.runs ?? 0) - held;
}

/**
 * Returns the number of runs that an agent may start itself: an equal share of those that are left, among the agents that the
 * response starts and the run itself.
 */
export function runsToGive(state: Parameters<typeof runsLeft>[0], calls: number): number {
  return Math.max(0, Math.floor((runsLeft(state) - calls) / (calls + 1)));
}
