import { errorMessage } from '../domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue, MAX_CHECKED_DEPTH } from '../domain/json.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/json-schema.ts';
import * as s from '../domain/shape.ts';
import {
  type ContextToSave,
  knownFields,
  ownMember,
  type Place,
  SAVED_ROLES,
  SAVED_VERSION,
  type SavedContext,
  type SavedMessage,
  type SavedRole,
  type SavedUsage,
  toSavedContext,
  toSavedMessage,
} from './saved-context.ts';

/** A document that was read: the context, and what was ignored or replaced; or the reason why it cannot be used. */
export type ReadSavedContext = { ok: true; context: SavedContext; warnings: string[] } | { ok: false; problem: string };

/** The most problems, and the most warnings, that are listed. */
const MOST_LISTED = 20;

/**
 * Reads a saved context from any value, and never throws. Fields that are missing get their defaults; `needs_response` is then
 * false, because only a document that says so asks for a response. Unknown fields are ignored, with a warning.
 */
export function readSavedContext(value: unknown): ReadSavedContext {
  try {
    if (isTooDeep(value, MAX_CHECKED_DEPTH)) return unusable(`the document is nested deeper than ${MAX_CHECKED_DEPTH} levels`);
    // A copy, because a value from code may have getters, functions and a `toJSON`.
    return readDocument(JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue);
  } catch (error) {
    return unusable(`the document is not JSON: ${errorMessage(error)}`);
  }
}

function unusable(problem: string): ReadSavedContext {
  return { ok: false, problem };
}

const FIELDS: Record<keyof SavedContext, true> = {
  agent_description: true,
  version: true,
  messages: true,
  tool_calls: true,
  system_prompt: true,
  deps: true,
  usage: true,
  needs_response: true,
  iteration: true,
  max_iterations: true,
  started_at: true,
  agent_name: true,
};

const USAGE_FIELDS: Record<keyof SavedUsage, true> = {
  requests: true,
  tool_calls: true,
  input_tokens: true,
  output_tokens: true,
  total_tokens: true,
  cache_creation_input_tokens: true,
  cache_read_input_tokens: true,
};

function readDocument(document: JsonValue): ReadSavedContext {
  const version = isJsonObject(document) ? ownMember(document, 'version') : undefined;
  if (!isJsonObject(document) || !Number.isInteger(version)) return unusable('missing or invalid version field');
  if (version !== SAVED_VERSION) return unusable(`unsupported version: ${shortJson(version)}`);
  const problems = problemsOf(document);
  if (problems.length > 0) return unusable(problemsText(bounded(problems, (left) => ({ path: '', message: `and ${left} more problems` }))));
  const warnings: string[] = [];
  const fields = knownFields(document, FIELDS, { path: '', warnings });
  const { messages = [], usage = {}, deps = {} } = fields as { messages?: JsonObject[]; usage?: JsonObject; deps?: JsonObject };
  const context = toSavedContext({
    ...(fields as ContextToSave),
    messages: messages.map((one, index) => readSavedMessage(one, { path: `messages[${index}]`, warnings })),
    usage: knownFields(usage, USAGE_FIELDS, { path: 'usage', warnings }),
    needs_response: fields['needs_response'] === true,
    started_at: readTime(fields['started_at'], warnings),
  });
  // Deps are taken as they are: they were screened when they were saved, and the start of a run checks them.
  return { ok: true, context: { ...context, deps }, warnings: bounded(warnings, (left) => `and ${left} more`) };
}

function problemsOf(document: JsonObject): JsonProblem[] {
  const messages = ownMember(document, 'messages');
  const problems = checkJson(SAVED_CONTEXT_SCHEMA, document);
  if (!Array.isArray(messages)) return problems;
  return [...problems, ...messages.flatMap((message, index) => roleProblems(message, `messages[${index}]`))];
}

/** An instant: date, time and offset. */
const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})$/i;

function readTime(text: JsonValue | undefined, warnings: string[]): string | null {
  if (typeof text !== 'string') return null;
  if (INSTANT.test(text) && !Number.isNaN(Date.parse(text))) return text;
  warnings.push(`started_at is ${shortJson(text)}, which is no ISO 8601 time with an offset: it is ignored`);
  return null;
}

function bounded<Item>(items: readonly Item[], rest: (left: number) => Item): Item[] {
  const left = items.length - MOST_LISTED;
  return left <= 0 ? [...items] : [...items.slice(0, MOST_LISTED), rest(left)];
}

const MESSAGE_FIELDS: Record<keyof SavedMessage, true> = {
  role: true,
  content: true,
  tool_calls: true,
  tool_call_id: true,
  name: true,
  metadata: true,
  reasoning_content: true,
  created_at: true,
};

/** Reads a message that fits the schema. A message with an unknown role is read as one of the user, with a warning. */
function readSavedMessage(message: JsonObject, place: Place): SavedMessage {
  const fields: Partial<SavedMessage> = knownFields(message, MESSAGE_FIELDS, place);
  return toSavedMessage({ ...fields, role: readRole(message, place) });
}

function readRole(message: JsonObject, { path, warnings }: Place): SavedRole {
  const role = ownMember(message, 'role');
  if (isRole(role)) return role;
  warnings.push(`${path}.role is ${shortJson(role)}, which is unknown: the message is read as one of the user`);
  return 'user';
}

function isRole(role: JsonValue | undefined): role is SavedRole {
  return SAVED_ROLES.some((one) => one === role);
}

/** Lists what does not fit the role of a message. An empty text is content: a tool may return nothing. */
function roleProblems(message: JsonValue, path: string): JsonProblem[] {
  if (!isJsonObject(message)) return [];
  const role = ownMember(message, 'role');
  const hasCallId = (ownMember(message, 'tool_call_id') ?? '') !== '';
  const hasContent = (ownMember(message, 'content') ?? null) !== null;
  const problems: JsonProblem[] = [];
  if (role === 'tool' && !hasCallId) problems.push({ path, message: 'tool_call_id is required for tool messages' });
  if (role !== 'tool' && hasCallId) problems.push({ path, message: 'tool_call_id is only allowed for tool messages' });
  if (role !== 'assistant' && !hasContent) problems.push({ path, message: 'content is required, except for assistants' });
  return problems;
}

/** Returns the schema of a value that may also be null. */
function orNull(schema: JsonObject & { type: string }): JsonObject {
  return { ...schema, type: [schema.type, 'null'] };
}

const TEXT = orNull({ type: 'string' });
const AMOUNT = { ...s.COUNT, type: ['integer', 'null'] };
const OBJECT = orNull({ type: 'object' });
const CALLS = orNull({ type: 'array', items: { type: 'object' } });

/** A message may have any role: an unknown one is read as that of the user. */
const MESSAGE: JsonObject = {
  type: 'object',
  properties: {
    content: { type: ['string', 'array', 'null'] },
    tool_calls: CALLS,
    tool_call_id: TEXT,
    name: TEXT,
    metadata: OBJECT,
    reasoning_content: TEXT,
    created_at: TEXT,
  },
};

const USAGE = orNull({
  type: 'object',
  properties: {
    requests: AMOUNT,
    tool_calls: AMOUNT,
    input_tokens: AMOUNT,
    output_tokens: AMOUNT,
    total_tokens: AMOUNT,
    cache_creation_input_tokens: AMOUNT,
    cache_read_input_tokens: AMOUNT,
  },
});

/** The JSON Schema of a saved context. Every field but the version may be left out or null, and further fields are allowed. */
const SAVED_CONTEXT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    messages: orNull({ type: 'array', items: MESSAGE }),
    tool_calls: CALLS,
    system_prompt: TEXT,
    deps: OBJECT,
    usage: USAGE,
    needs_response: { type: ['boolean', 'null'] },
    iteration: AMOUNT,
    max_iterations: AMOUNT,
    started_at: TEXT,
    agent_name: TEXT,
    agent_description: TEXT,
  },
};
