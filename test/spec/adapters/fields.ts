import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';

/** The value as an object; an input that is none is a mistake in the case. */
export function object(value: JsonValue | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  throw new TypeError(`The case should give an object, not ${JSON.stringify(value)}`);
}

/** The value as a list; a missing one is empty. */
export function list(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new TypeError(`The case should give a list, not ${JSON.stringify(value)}`);
}

/** The value as text, or `otherwise` where it is none. */
export function text(value: JsonValue | undefined, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise;
}

/** The value as a number, or `otherwise` where it is none. */
export function number(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
