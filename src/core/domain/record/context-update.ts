import { isJsonObject, type JsonObject, type JsonValue } from '../json/json.ts';

/** One change of the deps of a run (seed 002). */
export type ContextOperation =
  /** Puts the value in the place of whatever is there. */
  | { op: 'set'; key: string; value: JsonValue }
  /** Puts objects into each other, as deep as both sides are objects; everything else gives way to the new value. */
  | { op: 'merge'; key: string; value: JsonObject }
  /** Adds the value at the end of a list, which a missing key and null begin. A list is added as one element. */
  | { op: 'append'; key: string; value: JsonValue }
  /** Takes the key out. One that is missing is no problem. */
  | { op: 'delete'; key: string };

/** The changes that came with the result of one call, as they are recorded. */
export interface RecordedUpdate {
  callId: string;
  operations: ContextOperation[];
}

/** Deps after an update; or why it cannot be applied, in which case nothing of it is. */
export type UpdatedDeps = { ok: true; deps: JsonObject } | { ok: false; problem: string };

/** Applies operations in their order, each to what those before it have left. Changes nothing of what it is given. */
export function applyOperations(deps: JsonObject, operations: readonly ContextOperation[]): UpdatedDeps {
  // A map, because keys may come from a model: `__proto__` is one like any other.
  const entries = new Map(Object.entries(deps));
  for (const operation of operations) {
    const problem = apply(entries, operation);
    if (problem !== undefined) return { ok: false, problem };
  }
  return { ok: true, deps: Object.fromEntries(entries) };
}

/** The keys that operations change, each once, in the order of first use. */
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
