import type { JsonValue } from '../../domain/json.ts';

/** The value that a reference leads to, if there is one. */
export type Found = { found: true; value: JsonValue } | { found: false };

const NOTHING: Found = { found: false };

/**
 * Follows the names and indexes of a path inside a value. A name is an own key of an object, an index a place in a list; texts have
 * neither. A path into null leads to null: a step that was skipped, or found nothing, has no parts.
 */
export function valueAt(value: JsonValue, path: readonly (string | number)[]): Found {
  let current = value;
  for (const segment of path) {
    if (current === null) return { found: true, value: null };
    if (typeof current !== 'object') return NOTHING;
    if (Array.isArray(current) !== (typeof segment === 'number') || !Object.hasOwn(current, segment)) return NOTHING;
    current = (current as Record<string | number, JsonValue>)[segment] ?? null;
  }
  return { found: true, value: current };
}

/**
 * Follows the part of a reference after the name of a step inside the output of that step. The name `output` directly after that of
 * the step stands for the output itself and is always read so, regardless of the value: `{{Step.output}}` is the whole output,
 * `{{Step.output.score}}` and `{{Step.score}}` are its key `score`, and `{{Step.output.output}}` is its key `output`.
 */
export function outputAt(output: JsonValue, path: readonly (string | number)[]): Found {
  return valueAt(output, withoutOutput(path));
}

/** Removes the name `output` from the beginning of the part of a reference after the name of a step. */
export function withoutOutput(path: readonly (string | number)[]): readonly (string | number)[] {
  return path[0] === 'output' ? path.slice(1) : path;
}
