import { isTooDeep } from '../core/domain/json/json-depth.ts';
import { isJsonObject, type JsonValue } from '../core/domain/json/json.ts';

/**
 * A copy that Temporal gives back as it is. Texts and keys are well-formed UTF-16 (lone surrogates, which UTF-8 cannot
 * hold, become U+FFFD); numbers are what `JSON.stringify` keeps (`1e999` parses to infinity, which it writes as null).
 */
export function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one)]));
}

/** Anything as well-formed JSON; undefined for what JSON cannot hold (cycles, bigints, functions) and what is too deep. */
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

/** The same for a value that `JSON.parse` made. */
export function cleanParsed(value: JsonValue): JsonValue | undefined {
  return isTooDeep(value) ? undefined : wellFormed(value);
}
