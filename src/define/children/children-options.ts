import { type ChildrenOptions, MAX_TREE_DEPTH } from '../../core/domain/children/tree-limits.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { requireKnown, wholeNumber } from '../options/option-checks.ts';

/** Returns the limits of the runs below an agent. Throws a UsageError for one that is unknown or out of range. */
export function childrenOptions(owner: string, options: ChildrenOptions): ChildrenOptions {
  requireKnown(`${owner}: "children"`, options, ['depth', 'alive', 'perTree']);
  const { depth, alive, perTree } = options;
  if (depth !== undefined && wholeNumber(`${owner}: "children.depth"`, depth, 0) > MAX_TREE_DEPTH) {
    throw new UsageError(`${owner}: "children.depth" is ${depth}: write at most ${MAX_TREE_DEPTH}`);
  }
  return {
    ...(depth === undefined ? {} : { depth }),
    ...(alive === undefined ? {} : { alive: wholeNumber(`${owner}: "children.alive"`, alive, 1) }),
    ...(perTree === undefined ? {} : { perTree: wholeNumber(`${owner}: "children.perTree"`, perTree, 1) }),
  };
}
