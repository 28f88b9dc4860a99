/** The limits of the tree of runs below a run. A run that was started by another one has no higher ones than that. */
export interface TreeLimits {
  /** The number of runs above a run of the tree, at most. The root has none. */
  depth: number;
  /** The number of children that one run may have alive. Further ones wait their turn. */
  alive: number;
  /** The number of runs that may be started below the run, in all. */
  runs: number;
}

/** The limits of an agent that sets none. `perTree` counts the root. */
export const DEFAULT_TREE_LIMITS = { depth: 3, alive: 20, perTree: 200 } as const;

/** The limits of the tree as an agent sets them. */
export interface ChildrenOptions {
  /** The number of runs above a run of the tree, at most. Default 3. */
  depth?: number;
  /** The number of children that one run may have alive: further calls wait their turn. Default 20. */
  alive?: number;
  /** The number of runs of the whole tree, the root included. Default 200. */
  perTree?: number;
}

/** The highest limit of depth. */
export const MAX_TREE_DEPTH = 20;
