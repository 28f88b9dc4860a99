import { isJsonObject, isTooDeep, type JsonValue } from '../core/domain/json.ts';

/**
 * Returns a copy that Temporal's payloads preserve exactly. Texts and keys are well-formed UTF-16 (lone surrogates,
 * which UTF-8 cannot hold, become U+FFFD); numbers are those that `JSON.stringify` keeps (`1e999` parses to infinity,
 * which it writes as null).
 */
export function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one)]));
}

/**
 * Returns any value as well-formed JSON; undefined for values that JSON cannot hold (cycles, bigints, functions) and
 * values nested too deeply.
 */
export function cleanJson(value: unknown): JsonValue | undefined {
  if (typeof value === 'string') return value.toWellFormed();
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return undefined;
  }
  return text === undefined ? undefined : cleanParsed(JSON.parse(text) as JsonValue);
}

/** Does the same for a value that `JSON.parse` returned. */
export function cleanParsed(value: JsonValue): JsonValue | undefined {
  return isTooDeep(value) ? undefined : wellFormed(value);
}
