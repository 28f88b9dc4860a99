import type { JsonObject, JsonValue } from '../domain/json/json.ts';

/** The version of the documents that this code writes and reads. */
export const SAVED_VERSION = 1;

/**
 * The context of a run as a document: its conversation, deps and counters, as plain JSON. A run can be started from it. It is a
 * format for exchange with other systems, so its names are theirs, in snake case.
 */
export interface SavedContext {
  version: typeof SAVED_VERSION;
  messages: SavedMessage[];
  /** The log of tool calls: `{id, name, arguments}` each. */
  tool_calls: JsonObject[];
  /** The instructions of the agent. They are not part of the messages. */
  system_prompt: string | null;
  /** The deps without functions, live objects and members whose keys suggest a credential. */
  deps: JsonObject;
  usage: SavedUsage;
  /** True if the next turn is the model's. */
  needs_response: boolean;
  /** The number of steps that are complete. */
  iteration: number;
  /** The limit of steps. */
  max_iterations: number;
  /** ISO 8601. */
  started_at: string | null;
  agent_name: string | null;
  /** The description of the agent. Absent: it has none. */
  agent_description?: string;
}

/** One message of a saved context. */
export interface SavedMessage {
  role: SavedRole;
  /** Text, or a list of parts; in a message of a tool, any values. Null if an assistant said nothing. */
  content: string | JsonValue[] | null;
  /** The calls that an assistant asked for: `{id, name, arguments}` each. */
  tool_calls: JsonObject[];
  /** The call that a message of a tool answers. */
  tool_call_id: string | null;
  /** The name of the tool, in its message. */
  name: string | null;
  metadata: JsonObject;
  /** The model's reasoning before its answer. Absent if it is not known. */
  reasoning_content?: string;
  /** ISO 8601. Absent if it is not known. */
  created_at?: string;
}

/** The roles of messages. */
export const SAVED_ROLES = ['system', 'user', 'assistant', 'tool'] as const;

/** The role of a message. */
export type SavedRole = (typeof SAVED_ROLES)[number];

/** The usage of a saved context. The counters of the cache are absent if nothing is known of them. */
export interface SavedUsage {
  /** Model calls. */
  requests: number;
  tool_calls: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  /** Tokens that the provider wrote to its cache, as part of `input_tokens`. */
  cache_creation_input_tokens?: number;
  /** Tokens that the provider read from its cache, as part of `input_tokens`. */
  cache_read_input_tokens?: number;
}
