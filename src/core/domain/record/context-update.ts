import { isJsonObject, type JsonObject, type JsonValue } from '../json/json.ts';

/** One change of the deps of a run. */
export type ContextOperation =
  /** Replaces any current value by the new one. */
  | { op: 'set'; key: string; value: JsonValue }
  /** Merges objects recursively as long as both sides are objects; any other value is replaced by the new one. */
  | { op: 'merge'; key: string; value: JsonObject }
  /** Adds the value at the end of a list; a missing key and null count as an empty list. A list is added as one element. */
  | { op: 'append'; key: string; value: JsonValue }
  /** Removes the key. A missing key is not an error. */
  | { op: 'delete'; key: string };

/** The recorded changes that came with the result of one call. */
export interface RecordedUpdate {
  callId: string;
  operations: ContextOperation[];
}

/** The deps after an update, or the reason why no part of it was applied. */
export type UpdatedDeps = { ok: true; deps: JsonObject } | { ok: false; problem: string };

/** Applies operations in order, each to the result of the one before. Returns new deps and leaves its arguments unchanged. */
export function applyOperations(deps: JsonObject, operations: readonly ContextOperation[]): UpdatedDeps {
  // A map, because keys may come from a model: `__proto__` is one like any other.
  const entries = new Map(Object.entries(deps));
  for (const operation of operations) {
    const problem = apply(entries, operation);
    if (problem !== undefined) return { ok: false, problem };
  }
  return { ok: true, deps: Object.fromEntries(entries) };
}

/** Returns the keys that operations change, each once, in the order of first use. */
export function touchedKeys(operations: readonly ContextOperation[]): string[] {
  return [...new Set(operations.map(({ key }) => key))];
}

function apply(entries: Map<string, JsonValue>, operation: ContextOperation): string | undefined {
  const { key } = operation;
  const current = entries.get(key) ?? null;
  switch (operation.op) {
    case 'set':
      entries.set(key, operation.value);
      return undefined;
    case 'merge':
      entries.set(key, merged(current, operation.value));
      return undefined;
    case 'append':
      if (current !== null && !Array.isArray(current)) return `deps.${key} is ${kindOf(current)}: only a list can be appended to`;
      entries.set(key, [...(current ?? []), operation.value]);
      return undefined;
    case 'delete':
      entries.delete(key);
      return undefined;
  }
}

function merged(current: JsonValue, value: JsonValue): JsonValue {
  if (!isJsonObject(current) || !isJsonObject(value)) return value;
  const entries = new Map(Object.entries(current));
  for (const [key, inner] of Object.entries(value)) entries.set(key, merged(entries.get(key) ?? null, inner));
  return Object.fromEntries(entries);
}

function kindOf(value: JsonValue): string {
  return isJsonObject(value) ? 'an object' : `a ${typeof value}`;
}
