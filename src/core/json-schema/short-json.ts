import type { JsonValue } from '../domain/json/json.ts';

/** The most characters of JSON that a problem quotes. */
const MAX_QUOTED = 60;

/** Returns a value as JSON, cut if it is long. Reads only the part that is quoted. */
export function shortJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  const text = beginning(value, MAX_QUOTED);
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/**
 * Returns a `shortJson` that quotes each object once, because listing even the first keys of a large object takes time in
 * proportion to all of them.
 */
export function shortJsonOnce(): typeof shortJson {
  const known = new Map<JsonValue | undefined, string>();
  return (value) => {
    const text = known.get(value) ?? shortJson(value);
    if (typeof value === 'object') known.set(value, text);
    return text;
  };
}

/** Returns the JSON of a value, or a beginning of it with more than `room` characters. */
function beginning(value: JsonValue, room: number): string {
  // JSON is never shorter than the text, and an escape that the cut splits comes after the quoted part.
  if (typeof value === 'string') return JSON.stringify(value.slice(0, room + 1));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'nothing';
  const isList = Array.isArray(value);
  const members: Iterable<[string | number, JsonValue | undefined]> = isList ? value.entries() : Object.entries(value);
  let text = isList ? '[' : '{';
  for (const [key, member] of members) {
    if (member === undefined && !isList) continue;
    if (text.length > 1) text += ',';
    if (typeof key === 'string') text += `${beginning(key, room)}:`;
    text += beginning(member ?? null, Math.max(0, room - text.length));
    if (text.length > room) return text;
  }
  return `${text}${isList ? ']' : '}'}`;
}
