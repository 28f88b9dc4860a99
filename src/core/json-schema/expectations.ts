import type { Leaf } from './problem-text.ts';

/**
 * Removes an expected type if a fixed value is expected at the same path: a value that only has the type would still not fit.
 */
export function narrowed(leaves: readonly Leaf[]): Leaf[] {
  const fixedPaths = new Set(leaves.filter(({ fixed }) => fixed === 'all').map(pathKey));
  return leaves.filter((leaf) => leaf.expected === undefined || leaf.fixed !== undefined || !fixedPaths.has(pathKey(leaf)));
}

/** Joins the expectations of several choices for the same path: `expected string or number, got boolean`. */
export function eitherOf(leaves: readonly Leaf[]): Leaf[] {
  const merged = new Map<string, Leaf>();
  leaves.forEach((leaf, index) => {
    const key = leaf.expected === undefined ? `text ${index}` : pathKey(leaf);
    const known = merged.get(key);
    merged.set(key, known === undefined ? leaf : joined(known, leaf));
  });
  return [...merged.values()];
}

function joined(one: Leaf, other: Leaf): Leaf {
  const expected = [...new Set([...(one.expected ?? []), ...(other.expected ?? [])])];
  const { got } = one.fixed === undefined && other.fixed !== undefined ? other : one;
  const areAllFixed = one.fixed === 'all' && other.fixed === 'all';
  const { fixed: _, ...rest } = one;
  if (one.fixed === undefined && other.fixed === undefined) return { ...rest, expected };
  return { ...rest, expected, ...(got === undefined ? {} : { got }), fixed: areAllFixed ? 'all' : 'some' };
}

function pathKey({ at }: Leaf): string {
  return JSON.stringify(at);
}
