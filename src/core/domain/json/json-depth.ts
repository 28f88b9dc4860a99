import { memberPath } from './json-path.ts';

/**
 * Levels of lists and objects that a value may have which comes from outside: what callers send, what models ask for,
 * what tools return. What handles values recursively, here and in Temporal, would overflow the stack at some thousands.
 */
export const MAX_JSON_DEPTH = 64;

/** Levels of a value with all that travels around it, in the carry of a run for one. */
export const MAX_CHECKED_DEPTH = 128;

/** True where a value has more than `levels` levels of lists and objects; a cycle has. Does not recurse. */
export function isTooDeep(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  // Each object once per level: what is shared by many would otherwise be looked at once for every way to it.
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

/** Which member of a value is nested too deeply, in words; undefined where none is. `path` leads to the value. */
export function depthProblem(value: unknown, path = ''): string | undefined {
  if (!isNested(value)) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isTooDeep(member)) return `${memberPath(path, Array.isArray(value) ? Number(key) : key)}: ${TOO_DEEP}`;
  }
  return undefined;
}

/** Says what is wrong with a value that is too deep. */
export const TOO_DEEP = `nested deeper than ${MAX_JSON_DEPTH} levels: write it flatter, or as a text of JSON`;

function addNested(nested: Set<object>, members: readonly unknown[]): void {
  for (const member of members) if (isNested(member)) nested.add(member);
}

/** A list or an object of which JSON has the members: not what says itself how it is written, and no bytes. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return !('toJSON' in value && typeof value.toJSON === 'function');
}
