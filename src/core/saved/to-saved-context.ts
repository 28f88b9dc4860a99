import { suspectedCredentialKey } from '../domain/agent/credential-key.ts';
import { DEFAULT_STEPS } from '../domain/agent/limits.ts';
import { isSecretReference } from '../domain/agent/secret-reference.ts';
import { MAX_JSON_DEPTH } from '../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json/json.ts';
import { isPlain } from '../domain/record/deps-problem.ts';
import { SAVED_VERSION, type SavedContext, type SavedMessage, type SavedUsage } from './saved-context.ts';

/** A context to be saved. A field that is left out has the value of a context that was just created. */
export interface ContextToSave extends Partial<Omit<SavedContext, 'version' | 'messages' | 'deps' | 'usage'>> {
  messages?: readonly MessageToSave[];
  /** Any value: the part that may leave is saved. */
  deps?: unknown;
  usage?: Partial<SavedUsage>;
}

/** A message to be saved. All fields but its role may be left out. */
export type MessageToSave = Pick<SavedMessage, 'role'> & Partial<SavedMessage>;

/** Makes the document of a context. It has these fields alone: anything else that the context holds stays where it is. */
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
    ...(context.agent_description === undefined ? {} : { agent_description: context.agent_description }),
  };
}

/** Returns a message with all its fields. */
export function toSavedMessage(message: MessageToSave): SavedMessage {
  const { role, content, tool_calls, tool_call_id, name, metadata, reasoning_content, created_at } = message;
  return {
    role,
    content: content ?? null,
    tool_calls: tool_calls ?? [],
    tool_call_id: tool_call_id ?? null,
    name: name ?? null,
    metadata: metadata ?? {},
    ...(reasoning_content === undefined ? {} : { reasoning_content }),
    ...(created_at === undefined ? {} : { created_at }),
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
    ...(written === undefined ? {} : { cache_creation_input_tokens: written }),
    ...(read === undefined ? {} : { cache_read_input_tokens: read }),
  };
}

/**
 * Returns deps as they may leave the run: without members that JSON cannot hold (functions, live objects, references to secrets,
 * cycles, values nested too deeply) and without members whose keys suggest a credential, at any depth. Dates become texts. A value
 * that is no object becomes an empty one.
 */
export function screenedDeps(deps: unknown): JsonObject {
  const screened = screen(deps, []);
  return isJsonObject(screened) ? screened : {};
}

/** Returns the part of a value that may leave; undefined for none of it. `parents`: the objects that contain it. */
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
