import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import type { Schemas } from './check-meter.ts';

/** The most items of a list in which the validator compares every pair, which takes time quadratic in their number. */
export const MAX_COMPARED_ITEMS = 200;

/**
 * Decides how `uniqueItems` is checked. A value in which no list repeats an item needs no comparison. A value with both a repeated
 * item and a long list is not compared either: then a list of unique items must be short.
 */
export class UniqueItems {
  #isUsed = false;
  #check: 'none' | 'compare' | 'length' = 'compare';

  /** Chooses the way of checking a value, before it is checked. */
  begin(value: JsonValue): void {
    if (this.#isUsed) this.#check = howToCheck(value);
  }

  /** Makes the schemas follow that choice. */
  watch(schemas: Schemas): void {
    for (const schema of new Set(Object.values(schemas))) {
      if (typeof schema !== 'boolean' && schema.uniqueItems === true) this.#watch(schema);
    }
  }

  #watch(schema: JsonObject): void {
    this.#isUsed = true;
    const { maxItems } = schema;
    const ownLimit = typeof maxItems === 'number' ? maxItems : undefined;
    const atMost = Math.min(ownLimit ?? MAX_COMPARED_ITEMS, MAX_COMPARED_ITEMS);
    Object.defineProperty(schema, 'uniqueItems', { enumerable: true, get: () => this.#check === 'compare' });
    Object.defineProperty(schema, 'maxItems', { enumerable: true, get: () => (this.#check === 'length' ? atMost : ownLimit) });
  }
}

function howToCheck(value: JsonValue): 'none' | 'compare' | 'length' {
  const lists = listsIn(value);
  if (!lists.some(repeatsItem)) return 'none';
  return lists.some(({ length }) => length > MAX_COMPARED_ITEMS) ? 'length' : 'compare';
}

function listsIn(value: JsonValue): JsonValue[][] {
  const lists: JsonValue[][] = [];
  const open = [value];
  while (open.length > 0) {
    const one = open.pop() ?? null;
    if (Array.isArray(one)) lists.push(one);
    if (Array.isArray(one) || isJsonObject(one)) for (const member of Object.values(one)) open.push(member);
  }
  return lists;
}

function repeatsItem(list: readonly JsonValue[]): boolean {
  return new Set(list.map(canonicalJson)).size < list.length;
}
