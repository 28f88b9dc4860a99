import { isJsonObject, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../core/domain/json.ts';
import { cleanJson, parseJsonText } from './parse-json.ts';

/** A tool call, read from any of its shapes. */
export interface ParsedToolCall {
  toolCallId: string;
  name: string;
  /** The arguments; empty if the model sent none, or none that can be read. */
  arguments: JsonObject;
  /** The reason why the arguments could not be read, for the model. Such a call must not run. */
  problem?: string;
  /** The JSON value that the model sent instead of an object. */
  notAnObject?: JsonValue;
  /** The model sent no arguments: they may have been cut off, unless its tool takes none. */
  isBare?: true;
}

/** Options for reading a tool call. */
export interface ParseOptions {
  /**
   * False if the answer was cut off: arguments are then not repaired, and missing ones are not taken for `{}`.
   * Default true.
   */
  complete?: boolean;
  /** Creates the id of a call that has none. */
  uuid?: () => string;
}

/** The result of a call whose arguments are not JSON. */
const INVALID_JSON = 'Error: tool arguments were not valid JSON. Please retry with a JSON object.';

/** The result of a call without arguments, of a tool that takes some. */
export const MISSING_ARGUMENTS = `${INVALID_JSON} (They are missing. Call again with the complete arguments, or with {} if you mean none.)`;

/** The longest id that providers accept when it is sent back. */
const MAX_ID_LENGTH = 64;

/** The longest tool name of any provider: a longer one is unknown. */
const MAX_NAME_LENGTH = 128;

/**
 * Reads a tool call in any of the shapes that model clients deliver: our own content item, `{id, function: {name,
 * arguments}}`, a flat dictionary, or a class instance. A missing name becomes `unknown`, a missing id a new one, and
 * arguments that are not an object `{}`. Arguments that end in the middle, and missing ones in an answer that was cut off,
 * become a problem, whatever the finish reason says about the former. Never throws.
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

type ParsedArguments = Omit<ParsedToolCall, 'toolCallId' | 'name'>;

function parseArguments(raw: unknown, complete: boolean): ParsedArguments {
  if (raw === undefined || raw === null) return noArguments(complete);
  if (typeof raw === 'string') return parseText(raw, complete);
  const value = cleanJson(raw);
  if (value === undefined)
    return {
      arguments: {},
      problem: `${INVALID_JSON} (The value cannot be written as JSON, or is nested deeper than ${MAX_JSON_DEPTH} levels.)`,
    };
  return isJsonObject(value) ? { arguments: value } : { arguments: {}, notAnObject: value };
}

/** Returns empty arguments: with a problem if the provider says that the answer was cut off. */
function noArguments(complete: boolean): ParsedArguments {
  const cut = complete ? {} : { problem: `${INVALID_JSON} (They are empty, and the answer was cut off.)` };
  return { arguments: {}, isBare: true, ...cut };
}

function parseText(raw: string, complete: boolean): ParsedArguments {
  if (raw.trim() === '') return noArguments(complete);
  const parsed = parseJsonText(raw, complete);
  if (!parsed.ok) return { arguments: {}, problem: `${INVALID_JSON} (${parsed.problem})` };
  if (isJsonObject(parsed.value)) return { arguments: parsed.value };
  if (parsed.value === null) return noArguments(complete);
  // Prose in quotation marks is no JSON that the model meant.
  if (parsed.repaired) return { arguments: {}, problem: INVALID_JSON };
  return { arguments: {}, notAnObject: parsed.value };
}

/** Returns the fields of any object; none for another value. */
function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}

/** Returns a non-empty text, well-formed. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.toWellFormed() : undefined;
}

/** Returns the name without the markup that some models append: everything from the first quotation mark on. */
function cleanName(name: string): string {
  const [before = ''] = name.split('"', 1);
  return (before.trim() === '' ? name : before.trim()).slice(0, MAX_NAME_LENGTH).toWellFormed();
}
