import type { Leaf } from './problem-text.ts';

/**
 * Removes an expected type if a fixed value is expected at the same path: a value that only has the type would still not fit.
 * `except`: types that stay.
 */
export function narrowed(leaves: readonly Leaf[], except: (leaf: Leaf) => boolean = () => false): Leaf[] {
  const fixedPaths = new Set(leaves.filter(({ fixed }) => fixed === 'all').map(pathKey));
  return leaves.filter((leaf) => leaf.expected === undefined || leaf.fixed !== undefined || !fixedPaths.has(pathKey(leaf)) || except(leaf));
}

/** As `narrowed`, for the whole value: a type and a list of values that one schema declares are two rules, and both are reported. */
export function narrowedWhole(leaves: readonly Leaf[]): Leaf[] {
  const lists = new Set(leaves.filter(({ where }) => where.endsWith('/enum')).map(({ where }) => where.slice(0, -'enum'.length)));
  return narrowed(leaves, ({ where }) => where.endsWith('/type') && lists.has(where.slice(0, -'type'.length)));
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
