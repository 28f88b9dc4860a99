import { eitherOf, narrowed } from './expectations.ts';
import { pointerTokens } from './json-schema.ts';
import type { Leaf, ValidatorError } from './problem-text.ts';

/**
 * Reduces the errors of each union that the value does not fit: to those of the choice that the value is most likely meant to fit,
 * or else to the expectations of all choices. Reads the leaves once for each level of the schema that has unions, regardless of the
 * number of values that do not fit.
 */
export function reduceUnions(unions: readonly ValidatorError[], leaves: readonly Leaf[]): Leaf[] {
  const byLength = grouped(unions, ({ keywordLocation }) => keywordLocation.length);
  // Inner unions first: the outer ones count only the errors that are left of them.
  const inward = [...byLength].toSorted(([a], [b]) => b - a);
  return inward.reduce<Leaf[]>((left, [length, level]) => reduceLevel(level, length, left), [...leaves]);
}

/** A union that the value does not fit, with the leaves inside it. */
interface Inside {
  union: ValidatorError;
  /** The path in the value. */
  at: string[];
  leaves: Leaf[];
}

/** Reduces unions whose locations in the schema are equally long, so that none of them is inside another. */
function reduceLevel(unions: readonly ValidatorError[], length: number, leaves: readonly Leaf[]): Leaf[] {
  const known = new Map<string, Inside>();
  const levels = new Map<string, number>();
  for (const union of unions) {
    const at = pointerTokens(union.instanceLocation);
    levels.set(union.keywordLocation, at.length);
    known.set(keyOf(union.keywordLocation, at), { union, at, leaves: [] });
  }
  const outside: Leaf[] = [];
  for (const leaf of leaves) {
    const where = leaf.where[length] === '/' ? leaf.where.slice(0, length) : '';
    const depth = levels.get(where);
    const inside = depth === undefined ? undefined : known.get(keyOf(where, leaf.at.slice(0, depth)));
    (inside?.leaves ?? outside).push(leaf);
  }
  return [...outside, ...[...known.values()].flatMap(reduceUnion)];
}

function keyOf(where: string, at: readonly string[]): string {
  return JSON.stringify([where, ...at]);
}

function reduceUnion({ union, at, leaves }: Inside): Leaf[] {
  const choices = byChoice(leaves, `${union.keywordLocation}/`).map((choice) => narrowed(choice));
  if (choices.length === 0) return [{ at, where: union.keywordLocation, text: 'expected exactly one of the alternatives to fit' }];

  // A different type, or a different value of a fixed field, shows that the value was not meant for this choice.
  const isForeign = (leaf: Leaf): boolean => leaf.expected !== undefined && leaf.at.length <= at.length + (leaf.fixed ? 1 : 0);
  const likely = choices.filter((choice) => !choice.some(isForeign)).toSorted((a, b) => a.length - b.length);
  return likely[0] ?? eitherOf(choices.flatMap((choice) => choice.filter(isForeign)));
}

function byChoice(leaves: readonly Leaf[], prefix: string): Leaf[][] {
  return [...grouped(leaves, ({ where }) => where.slice(prefix.length).split('/', 1)[0] ?? '').values()];
}

function grouped<Item, Key>(items: readonly Item[], keyOfItem: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
