import { errorMessage } from '../domain/errors/error.ts';
import { isTooDeep, MAX_CHECKED_DEPTH } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/short-json.ts';
import { knownFields, ownMember } from './known-fields.ts';
import { readSavedMessage, roleProblems } from './read-saved-message.ts';
import { SAVED_VERSION, type SavedContext, type SavedUsage } from './saved-context.ts';
import { SAVED_CONTEXT_SCHEMA } from './saved-context-schema.ts';
import { type ContextToSave, toSavedContext } from './to-saved-context.ts';

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
    if (isTooDeep(value, MAX_CHECKED_DEPTH)) return refused(`the document is nested deeper than ${MAX_CHECKED_DEPTH} levels`);
    // A copy, because a value from code may have getters, functions and a `toJSON`.
    return readDocument(JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue);
  } catch (error) {
    return refused(`the document is not JSON: ${errorMessage(error)}`);
  }
}

function refused(problem: string): ReadSavedContext {
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
  if (!isJsonObject(document) || !Number.isInteger(version)) return refused('missing or invalid version field');
  if (version !== SAVED_VERSION) return refused(`unsupported version: ${shortJson(version)}`);
  const problems = problemsOf(document);
  if (problems.length > 0) return refused(problemsText(bounded(problems, (left) => ({ path: '', message: `and ${left} more problems` }))));
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
