import { MAX_JSON_DEPTH } from '../core/domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../core/domain/json/json.ts';
import { cleanJson } from './clean-json.ts';
import { parseJsonText } from './parse-json-text.ts';

/** A tool call, whatever shape it came in. */
export interface ParsedToolCall {
  toolCallId: string;
  name: string;
  /** Empty where the model gave none, or none that can be read. */
  arguments: JsonObject;
  /** Why the arguments could not be read, for the model. Such a call must not run. */
  problem?: string;
  /** What the model gave in place of an object, where it was JSON of another kind. */
  notAnObject?: string;
}

/** How a tool call is read. */
export interface ParseOptions {
  /** False where the answer was cut off: its arguments are then not repaired, and none are not taken for `{}`. Default true. */
  complete?: boolean;
  /** Makes the id of a call that has none. */
  uuid?: () => string;
}

/** What a call is answered with whose arguments are not JSON (seed 002). */
const INVALID_JSON = 'Error: tool arguments were not valid JSON. Please retry with a JSON object.';

/** Ids longer than this are refused by providers when they are sent back. */
const MAX_ID_LENGTH = 64;

/** No provider lets a tool have a longer name: whatever it is, it is unknown. */
const MAX_NAME_LENGTH = 128;

/**
 * Reads a tool call in any of the shapes that clients deliver (seed 001): our own content item, `{id, function: {name,
 * arguments}}`, a flat dictionary, an object of a class. A missing name becomes `unknown`, a missing id a new one,
 * arguments that are no object become `{}`, and none at all in an answer that was cut off a problem. Never throws.
 */
export function parseToolCall(shape: unknown, options: ParseOptions = {}): ParsedToolCall {
  const { complete = true, uuid = () => crypto.randomUUID() } = options;
  const outer = fieldsOf(shape);
  const inner = fieldsOf(outer['function']);
  const name = text(outer['name']) ?? text(inner['name']) ?? text(outer['toolName']) ?? text(outer['tool_name']) ?? 'unknown';
  const id = [outer['toolCallId'], outer['tool_call_id'], outer['id'], outer['call_id'], outer['callId']]
    .map(text)
    .find((one) => one !== undefined);
  return {
    toolCallId: id !== undefined && id.length <= MAX_ID_LENGTH ? id : uuid(),
    name: cleanName(name),
    ...parseArguments(inner['arguments'] ?? outer['arguments'] ?? outer['args'], complete),
  };
}

type ParsedArguments = Pick<ParsedToolCall, 'arguments' | 'problem' | 'notAnObject'>;

function parseArguments(raw: unknown, complete: boolean): ParsedArguments {
  if (raw === undefined || raw === null) return noArguments(complete);
  if (typeof raw === 'string') return parseText(raw, complete);
  const value = typeof raw === 'object' ? cleanJson(raw) : raw;
  if (value === undefined)
    return {
      arguments: {},
      problem: `${INVALID_JSON} (The value cannot be written as JSON, or is nested deeper than ${MAX_JSON_DEPTH} levels.)`,
    };
  return isJsonObject(value) ? { arguments: value } : { arguments: {}, notAnObject: kindOf(value) };
}

/** A call without arguments is one only where the model ended by itself: else they may not have come. */
function noArguments(complete: boolean): ParsedArguments {
  return { arguments: {}, ...(complete ? {} : { problem: `${INVALID_JSON} (They are empty, and the answer was cut off.)` }) };
}

function parseText(raw: string, complete: boolean): ParsedArguments {
  if (raw.trim() === '') return noArguments(complete);
  const parsed = parseJsonText(raw, complete);
  if (!parsed.ok) return { arguments: {}, problem: `${INVALID_JSON} (${parsed.problem})` };
  if (isJsonObject(parsed.value)) return { arguments: parsed.value };
  // A repair makes JSON of any prose: only an object shows that JSON was meant.
  if (parsed.repaired) return { arguments: {}, problem: INVALID_JSON };
  if (parsed.value === null) return noArguments(complete);
  return { arguments: {}, notAnObject: kindOf(parsed.value) };
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}

/** The fields of any object; none for anything else. */
function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}

/** A text with something in it, well-formed. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined;
}

/** Some models write markup behind the name: what begins with a quotation mark is none of it (seed 002). */
function cleanName(name: string): string {
  const [before = ''] = name.split('"', 1);
  return (before.trim() === '' ? name : before.trim()).slice(0, MAX_NAME_LENGTH).toWellFormed();
}
