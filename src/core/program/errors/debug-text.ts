import type { JsonValue } from '../../domain/json.ts';

/** The most characters of a debug text. */
const MAX_CHARACTERS = 1000;

/** Returns a value as people write it in messages: texts in single quotes, lists and objects with blanks. Cut if it is long. */
export function debugText(value: JsonValue): string {
  const text = beginning(value, MAX_CHARACTERS);
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/** Returns the debug text of a value, or a beginning of it with more than `room` characters: it reads no more of the value. */
function beginning(value: JsonValue, room: number): string {
  if (typeof value === 'string') return quoted(value.slice(0, room + 1));
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  // A value that is nested deeper than there is room is not followed: the stack would overflow.
  if (text.length > room) return text;
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    if (text.length > 1) text += ', ';
    if (typeof key === 'string') text += `${quoted(key.slice(0, room + 1))}: `;
    text += beginning(member, Math.max(0, room - text.length));
    if (text.length > room) return text;
  }
  return `${text}${isList ? ']' : '}'}`;
}

/** Quotes a text with single quotes; with double quotes if it has single ones alone. */
function quoted(text: string): string {
  const json = JSON.stringify(text).slice(1, -1);
  if (text.includes("'") && !text.includes('"')) return `"${json}"`;
  return `'${json.replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;
}
