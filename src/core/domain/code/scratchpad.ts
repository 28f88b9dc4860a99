import type { JsonObject, JsonValue } from '../json/json.ts';

/** The working memory of an agent that answers with code. It is part of the state of the run. */
export interface Scratchpad {
  /** The values that code has stored, by name, in the order in which their names were first stored. */
  readonly values: JsonObject;
  readonly observations: readonly string[];
  /** The approaches that failed. */
  readonly failed: readonly string[];
}

export const EMPTY_SCRATCHPAD: Scratchpad = { values: {}, observations: [], failed: [] };

/** Stores a value under a name, in place of the value that the name has. */
export function stored(scratchpad: Scratchpad, name: string, value: JsonValue): Scratchpad {
  // Object.fromEntries defines its keys, also one like `__proto__`, which an assignment would not.
  return { ...scratchpad, values: Object.fromEntries([...Object.entries(scratchpad.values), [name, value]]) };
}

/** Returns the value that is stored under a name, or `otherwise` if there is none. */
export function recalled({ values }: Scratchpad, name: string, otherwise: JsonValue = null): JsonValue {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : otherwise;
}

/** Adds an observation. */
export function observed(scratchpad: Scratchpad, observation: string): Scratchpad {
  return { ...scratchpad, observations: [...scratchpad.observations, observation] };
}

/** Adds an approach that failed. */
export function approachFailed(scratchpad: Scratchpad, approach: string): Scratchpad {
  return { ...scratchpad, failed: [...scratchpad.failed, approach] };
}
