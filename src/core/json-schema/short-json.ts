import type { JsonValue } from '../domain/json/json.ts';

/** Characters of JSON that a problem quotes of a value. */
const MAX_QUOTED = 60;

/** A value as JSON, cut where it is long. Looks at no more of it than is quoted. */
export function shortJson(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing';
  const text = beginning(value, MAX_QUOTED);
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/** The same, each object once: even the first keys of a large one take time in proportion to all that it has. */
export function shortJsonOnce(): typeof shortJson {
  const known = new Map<JsonValue | undefined, string>();
  return (value) => {
    const text = known.get(value) ?? shortJson(value);
    if (typeof value === 'object') known.set(value, text);
    return text;
  };
}

/** The JSON of a value, or more than `room` characters of its beginning. */
function beginning(value: JsonValue, room: number): string {
  // Never shorter as JSON, and an escape that the cut splits comes after what is quoted.
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
