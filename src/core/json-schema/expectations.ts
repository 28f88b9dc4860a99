import type { Leaf } from './problem-text.ts';

/**
 * What must hold together, without the types that certain values are expected beside: a value of the type alone would
 * not be enough.
 */
export function narrowed(leaves: readonly Leaf[]): Leaf[] {
  const certain = new Set(leaves.filter(({ fixed }) => fixed === 'all').map(placeOf));
  return leaves.filter((leaf) => leaf.expected === undefined || leaf.fixed !== undefined || !certain.has(placeOf(leaf)));
}

/** What choices expect of the same place, in one: `expected string or number, got boolean`. */
export function eitherOf(leaves: readonly Leaf[]): Leaf[] {
  const merged = new Map<string, Leaf>();
  leaves.forEach((leaf, index) => {
    const key = leaf.expected === undefined ? `text ${index}` : placeOf(leaf);
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

function placeOf({ at }: Leaf): string {
  return JSON.stringify(at);
}
