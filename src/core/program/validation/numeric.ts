import type { JsonValue } from '../../domain/json/json.ts';

const NUMBER_CHARACTERS = /^[\d.eE+-]+$/;

/** Reads a number that a model gave as a number or as the text of one; undefined for any other value. */
export function numeric(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  // Number would take an empty text, and texts such as "0x10" and "Infinity".
  if (!NUMBER_CHARACTERS.test(text)) return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? undefined : number;
}
