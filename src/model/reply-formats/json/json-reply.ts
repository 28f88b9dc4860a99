import type { JsonObject, JsonValue } from '../../../core/domain/json/json.ts';
import { jsonObjectIn } from './json-object-in.ts';

/** An answer in the JSON format, by what it asks for. */
export type JsonReply =
  | { type: 'tool'; name: string; arguments: JsonValue; scratchpad?: string }
  | { type: 'answer'; value: JsonValue }
  /** It only notes something. */
  | { type: 'scratchpad'; note: string }
  /** It is an object without a field that says what to do. */
  | { type: 'empty'; isBare: boolean }
  | { type: 'not_json' };

/** Reads the text of an answer. An answer goes before a tool, and a tool before a note. */
export function jsonReply(text: string): JsonReply {
  const fields = jsonObjectIn(text);
  return fields === undefined ? { type: 'not_json' } : replyOf(fields);
}

function replyOf(fields: JsonObject): JsonReply {
  const tool = fieldOf(fields, 'tool') ?? null;
  const answer = fieldOf(fields, 'answer');
  // Models that fill in every field write null for the one that they do not mean.
  if (answer !== undefined && (answer !== null || tool === null)) return { type: 'answer', value: answer };
  const note = fieldOf(fields, 'scratchpad') ?? null;
  if (tool !== null) {
    const name = textOf(tool);
    return { type: 'tool', name, arguments: fieldOf(fields, 'arguments') ?? {}, ...(note === null ? {} : { scratchpad: textOf(note) }) };
  }
  if (note !== null) return { type: 'scratchpad', note: textOf(note) };
  return { type: 'empty', isBare: Object.keys(fields).length === 0 };
}

/** Only own fields count: an object of a model may lack any of them. */
function fieldOf(fields: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Returns a value as text: a text itself, another value as JSON. */
export function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
