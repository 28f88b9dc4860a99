import type { AgentSnapshot } from '../domain/agent.ts';
import { type ContentItem, isToolCall, type Message, needsResponse, type ToolResult } from '../domain/content.ts';
import { isPlain, isSecretReference, suspectedCredentialKey } from '../domain/deps.ts';
import { errorMessage } from '../domain/errors.ts';
import {
  defined,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  MAX_CHECKED_DEPTH,
  MAX_JSON_DEPTH,
  memberPath,
} from '../domain/json.ts';
import { DEFAULT_STEPS } from '../domain/limits.ts';
import { isRecall } from '../domain/memory.ts';
import { withMissingResults } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import * as s from '../domain/shape.ts';
import { isoTime } from '../domain/time.ts';
import { type CallsNotRun, INTERRUPTED_CALL, requestedCalls } from '../domain/tool-calls.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import type { Window } from '../domain/window.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/json-schema.ts';

/** The version of the documents that this code reads and writes. */
export const SAVED_VERSION = 1;

/**
 * The context of a run as a document: its conversation, deps and counters, as plain JSON. A run can be started from it. It is an exchange
 * format for other systems, so its names follow theirs, in snake case.
 */
export interface SavedContext {
  /** The version of the form: 1. */
  version: typeof SAVED_VERSION;
  /** The conversation, in order, without the instructions. */
  messages: SavedMessage[];
  /** The log of tool calls, each `{id, name, arguments}`. */
  tool_calls: JsonObject[];
  /** The agent's instructions. They are not part of the messages. */
  system_prompt: string | null;
  /** The deps without functions, live objects and members whose keys suggest a credential. */
  deps: JsonObject;
  /** The model calls, tool calls and tokens of the conversation so far. */
  usage: SavedUsage;
  /** True if the next turn is the model's. */
  needs_response: boolean;
  /** The number of completed steps. */
  iteration: number;
  /** The limit of steps. */
  max_iterations: number;
  /** ISO 8601. */
  started_at: string | null;
  /** The name of the agent. Null: none. */
  agent_name: string | null;
  /** The description of the agent. Absent: none. */
  agent_description?: string;
}

/** One message of a saved context. */
export interface SavedMessage {
  /** `system`, `user`, `assistant`, or `tool` for the result of a call. */
  role: SavedRole;
  /** Text, or a list of parts; in a tool's message, any values. Null if an assistant said nothing. */
  content: string | JsonValue[] | null;
  /** The calls requested by an assistant, each `{id, name, arguments}`. */
  tool_calls: JsonObject[];
  /** The call answered by a tool's message. */
  tool_call_id: string | null;
  /** The name of the tool, in a tool's message. */
  name: string | null;
  /** Further facts about the message, by name. */
  metadata: JsonObject;
  /** The model's reasoning before its answer. Absent if unknown. */
  reasoning_content?: string;
  /** ISO 8601. Absent if unknown. */
  created_at?: string;
}

const SAVED_ROLES = ['system', 'user', 'assistant', 'tool'] as const;

/** The role of a message. @useDeclaredType */
export type SavedRole = (typeof SAVED_ROLES)[number];

/** The usage of a saved context. The cache counters are absent if unknown. */
export interface SavedUsage {
  /** Model calls. */
  requests: number;
  /** The number of tool calls. */
  tool_calls: number;
  /** Input tokens. */
  input_tokens: number;
  /** Output tokens. */
  output_tokens: number;
  /** Input and output tokens. */
  total_tokens: number;
  /** Tokens that the provider wrote to its cache, as part of `input_tokens`. */
  cache_creation_input_tokens?: number;
  /** Tokens that the provider read from its cache, as part of `input_tokens`. */
  cache_read_input_tokens?: number;
}

/** A context to save. An omitted field has the value of a newly created context. */
export interface ContextToSave extends Partial<Omit<SavedContext, 'version' | 'messages' | 'deps' | 'usage'>> {
  /** The conversation, in order. Default: empty. */
  messages?: readonly MessageToSave[];
  /** Any value: only the allowed part is saved. */
  deps?: unknown;
  /** The model calls, tool calls and tokens of the conversation so far. Default: all 0. */
  usage?: Partial<SavedUsage>;
}

/** A message to save. All fields except the role are optional. */
export type MessageToSave = Pick<SavedMessage, 'role'> & Partial<SavedMessage>;

/** Creates the document of a context. It has only these fields: anything else in the context is left out. */
export function toSavedContext(context: ContextToSave): SavedContext {
  const { messages = [], usage = {} } = context;
  return {
    version: SAVED_VERSION,
    messages: messages.map(toSavedMessage),
    tool_calls: context.tool_calls ?? [],
    system_prompt: context.system_prompt ?? null,
    deps: screenedDeps(context.deps),
    usage: toSavedUsage(usage),
    needs_response: context.needs_response ?? true,
    iteration: context.iteration ?? 0,
    max_iterations: context.max_iterations ?? DEFAULT_STEPS,
    started_at: context.started_at ?? null,
    agent_name: context.agent_name ?? null,
    ...defined({ agent_description: context.agent_description }),
  };
}

/** Returns a message with all its fields. */
function toSavedMessage(message: MessageToSave): SavedMessage {
  const { role, content, tool_calls, tool_call_id, name, metadata, reasoning_content, created_at } = message;
  return {
    role,
    content: content ?? null,
    tool_calls: tool_calls ?? [],
    tool_call_id: tool_call_id ?? null,
    name: name ?? null,
    metadata: metadata ?? {},
    ...defined({ reasoning_content, created_at }),
  };
}

/** Returns usage with all its counters. */
function toSavedUsage(usage: Partial<SavedUsage>): SavedUsage {
  const { cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  return {
    requests: usage.requests ?? 0,
    tool_calls: usage.tool_calls ?? 0,
    input_tokens: usage.input_tokens ?? 0,
    output_tokens: usage.output_tokens ?? 0,
    total_tokens: usage.total_tokens ?? 0,
    ...defined({ cache_creation_input_tokens: written, cache_read_input_tokens: read }),
  };
}

/**
 * Returns the part of deps that may leave the run: without members that JSON cannot represent (functions, live objects, references to
 * secrets, cycles, values nested too deeply), and without members whose keys suggest a credential, at any depth. Dates become texts. A
 * value that is not an object becomes an empty one.
 */
export function screenedDeps(deps: unknown): JsonObject {
  const screened = screen(deps, []);
  return isJsonObject(screened) ? screened : {};
}

/** Returns the allowed part of a value, or undefined if there is none. `parents`: the objects that contain it. */
function screen(value: unknown, parents: readonly object[]): JsonValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'object' || parents.includes(value) || parents.length >= MAX_JSON_DEPTH) return undefined;
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    return list.map((one) => screen(one, inside)).filter((one) => one !== undefined);
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  if (!isPlain(value) || isSecretReference(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): [string, JsonValue][] => {
      const kept = suspectedCredentialKey(key) ? undefined : screen(member, inside);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
}

/**
 * Adds a tool message for each unanswered call in a saved context, right after the message that requested it and its other results. Its
 * text says that the call was interrupted, so the model may repeat it. Providers refuse a conversation with an unanswered call. A context
 * without such calls is returned unchanged, so the function is idempotent. `client.start({ saved })` does the same: use this for contexts
 * that go elsewhere.
 *
 * @example
 * const whole = patchDanglingToolCalls(await client.handle(runId).save());
 */
export function patchDanglingToolCalls(context: SavedContext): SavedContext {
  const messages = withMissingResults(context.messages, {
    callsIn: ({ role, tool_calls }) => (role === 'assistant' ? tool_calls.map(callToAnswer) : []),
    answeredBy: ({ role, tool_call_id }) => (role === 'tool' && tool_call_id !== null ? [tool_call_id] : []),
    isOfResults: ({ role }) => role === 'tool',
    interrupted: (calls) => calls.map(({ id, name }) => interruptedMessage(id, name)),
  });
  if (messages === context.messages) return context;
  return { ...context, messages, needs_response: context.needs_response || messages.at(-1)?.role === 'tool' };
}

/** Reads a call, which may be nested as in providers' formats. */
function callToAnswer(call: JsonValue): { id: string; name: string } {
  if (!isJsonObject(call)) return { id: '', name: '' };
  const nested = ownMember(call, 'function');
  return { id: textOrEmpty(ownMember(call, 'id')), name: textOrEmpty(ownMember(isJsonObject(nested) ? nested : call, 'name')) };
}

function textOrEmpty(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function interruptedMessage(id: string, name: string): SavedMessage {
  return toSavedMessage({
    role: 'tool',
    tool_call_id: id,
    ...(name === '' ? {} : { name }),
    content: INTERRUPTED_CALL,
    metadata: { is_error: true },
  });
}

/** The place of an object in a document, and the list for warnings about it. */
interface Place {
  path: string;
  warnings: string[];
}

/** Returns the known, non-null members of an object. Adds a warning for each unknown one. */
function knownFields(object: JsonObject, fields: Readonly<Record<string, true>>, { path, warnings }: Place): JsonObject {
  const entries = Object.entries(object);
  for (const [key] of entries) if (!Object.hasOwn(fields, key)) warnings.push(`${memberPath(path, key)} is unknown, and ignored`);
  return Object.fromEntries(entries.filter(([key, value]) => Object.hasOwn(fields, key) && value !== null));
}

/** Returns an own member of an object, never one of its prototype. */
function ownMember(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

interface RunToSave {
  /** The current agent. */
  agent: Pick<AgentSnapshot, 'name' | 'description' | 'instructions'>;
  window: Pick<Window, 'events'>;
  /** The recorded events with known times. */
  events: readonly Pick<Event, 'id' | 'timestamp'>[];
  deps: JsonObject;
  usage: AggregatedUsage;
  toolCallsTotal: number;
  toolCallsNotRun?: CallsNotRun | undefined;
  /** The number of completed steps. */
  currentStep: number;
  maxIterations: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/**
 * Returns the context of a run as a document: the conversation that the model currently sees, and the calls in it. Memory entries are left
 * out: a continued run recalls them anew, and an entry that was forgotten meanwhile must not come back as a user's text.
 */
export function contextOfRun({ agent, window, events, startedAt, ...run }: RunToSave): SavedContext {
  const times = new Map(events.map(({ id, timestamp }) => [id, timestamp]));
  const conversation = window.events.filter((event) => !isRecall(event));
  const content = conversation.flatMap((event) => event.content);
  return toSavedContext({
    messages: savedMessages(conversation.map((event) => ({ content: event.content, createdAt: times.get(event.id) }))),
    tool_calls: content.filter(isToolCall).map(({ toolCallId, name, arguments: args }) => ({ id: toolCallId, name, arguments: args })),
    system_prompt: agent.instructions.length === 0 ? null : agent.instructions.join('\n\n'),
    deps: run.deps,
    usage: savedUsage(run.usage, requestedCalls(run)),
    needs_response: needsResponse(content),
    iteration: run.currentStep,
    max_iterations: run.maxIterations,
    started_at: isoTime(startedAt),
    agent_name: agent.name,
    ...defined({ agent_description: agent.description }),
  });
}

/** Returns the usage to save, without usage that no provider reported. */
function savedUsage(usage: AggregatedUsage, toolCalls: number): SavedUsage {
  const { cacheWriteTokens } = usage;
  return {
    requests: usage.llmCalls,
    tool_calls: toolCalls,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...defined({ cache_creation_input_tokens: cacheWriteTokens }),
    cache_read_input_tokens: usage.cachedTokens,
  };
}

/** The content of one event, with its time if known. */
interface EventToSave {
  content: readonly ContentItem[];
  /** ISO 8601. */
  createdAt?: string | undefined;
}

/** Returns a conversation as messages: a text of the model and its calls become one message, and each result a separate one. */
export function savedMessages(events: readonly EventToSave[]): SavedMessage[] {
  return events.flatMap(({ content, createdAt }) => {
    const messages: SavedMessage[] = [];
    for (const item of content) {
      const last = messages.at(-1);
      if (!isToolCall(item)) messages.push(item.type === 'message' ? saidMessage(item) : resultMessage(item));
      else if (last?.role === 'assistant') last.tool_calls.push(savedCall(item));
      else messages.push(toSavedMessage({ role: 'assistant', tool_calls: [savedCall(item)] }));
    }
    return createdAt === undefined ? messages : messages.map((message) => ({ ...message, created_at: createdAt }));
  });
}

function savedCall({ toolCallId, name, arguments: args }: ContentItem & { type: 'tool_call' }): JsonObject {
  return { id: toolCallId, name, arguments: args };
}

function saidMessage({ role, content }: Message): SavedMessage {
  return toSavedMessage({ role, content: typeof content === 'string' ? content : (jsonCopy(content) as JsonValue[]) });
}

/** A single text is the content itself; anything else becomes a list of values. */
function resultMessage({ toolCallId, name, status, content, spilled, notes }: ToolResult): SavedMessage {
  const [only] = content;
  return toSavedMessage({
    role: 'tool',
    tool_call_id: toolCallId,
    name,
    content: content.length === 1 && typeof only === 'string' ? only : content,
    metadata: {
      ...(status === 'error' ? { is_error: true } : {}),
      ...(spilled === undefined ? {} : { spilled: jsonCopy(spilled) }),
      ...defined({ notes }),
    },
  });
}

function jsonCopy(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** The result of reading a document: the context and warnings about ignored or replaced parts, or the reason why it cannot be used. */
export type ReadSavedContext = { ok: true; context: SavedContext; warnings: string[] } | { ok: false; problem: string };

/** The maximum number of listed problems, and of listed warnings. */
const MOST_LISTED = 20;

/**
 * Reads a saved context from any value. Never throws. Missing fields get their defaults; `needs_response` is then false, because a response
 * is only made if the document asks for it. Unknown fields are ignored, with a warning.
 */
export function readSavedContext(value: unknown): ReadSavedContext {
  try {
    if (isTooDeep(value, MAX_CHECKED_DEPTH)) return unusable(`the document is nested deeper than ${MAX_CHECKED_DEPTH} levels`);
    // Copied, because a value from code may have getters, functions and a `toJSON`.
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
  // Deps are used unchanged: they were screened when they were saved, and the start of a run checks them.
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

/** Reads a message that fits the schema. A message with an unknown role is read as a user's, with a warning. */
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

/** Lists the parts of a message that do not fit its role. An empty text is content: a tool may return nothing. */
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

/** Returns a schema that also accepts null. */
function orNull(schema: JsonObject & { type: string }): JsonObject {
  return { ...schema, type: [schema.type, 'null'] };
}

const TEXT = orNull({ type: 'string' });
const AMOUNT = { ...s.COUNT, type: ['integer', 'null'] };
const OBJECT = orNull({ type: 'object' });
const CALLS = orNull({ type: 'array', items: { type: 'object' } });

/** A message may have any role: an unknown one is read as the user's. */
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

/** The JSON Schema of a saved context. Every field except the version may be omitted or null, and further fields are allowed. */
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
