import { memberPath } from './json-path.ts';

/**
 * Levels of lists and objects that a value from a caller, a model or a tool may have. Recursive code, in this project and in
 * Temporal, overflows the stack at some thousands of levels.
 */
export const MAX_JSON_DEPTH = 64;

/** Levels of such a value together with the objects around it, for example in the carried state of a run. */
export const MAX_CHECKED_DEPTH = 128;

/** True if a value has more than `levels` levels of lists and objects, as every cycle has. Does not recurse. */
export function isTooDeep(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  // Each object once per level: a shared object would otherwise be visited once for every path that leads to it.
  let level = new Set<object>();
  addNested(level, [value]);
  for (let depth = 0; level.size > 0; depth += 1) {
    if (depth >= levels) return true;
    const inner = new Set<object>();
    for (const one of level) addNested(inner, Array.isArray(one) ? one : Object.values(one));
    level = inner;
  }
  return false;
}

/** Describes the first member of a value that is nested too deeply; undefined if none is. `path` leads to the value. */
export function depthProblem(value: unknown, path = ''): string | undefined {
  if (!isNested(value)) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isTooDeep(member)) return `${memberPath(path, Array.isArray(value) ? Number(key) : key)}: ${TOO_DEEP}`;
  }
  return undefined;
}

/** The problem of a value that is nested too deeply, with what to write instead. */
export const TOO_DEEP = `nested deeper than ${MAX_JSON_DEPTH} levels: write it flatter, or as a text of JSON`;

function addNested(nested: Set<object>, members: readonly unknown[]): void {
  for (const member of members) if (isNested(member)) nested.add(member);
}

/** True for a list or an object whose members JSON writes: not for bytes, nor for an object with a `toJSON` of its own. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return !('toJSON' in value && typeof value.toJSON === 'function');
}
