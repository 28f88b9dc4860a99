import type { ModelSettings, ToolDescription } from '../agent/agent-snapshot.ts';
import type { ContentItem } from '../content/content.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { SecretReference } from '../agent/secret-reference.ts';
import type { FinishReason } from '../record/step.ts';
import type { UsageStats } from './usage.ts';

/** One entry of the conversation as a model sees it: the content of one event. */
export interface ConversationEvent {
  author: string;
  content: ContentItem[];
  providerItems?: JsonValue[];
}

/** Everything a provider needs for one call. Built from the snapshot and the conversation alone, so that it is the same wherever it is built. */
export interface ModelRequest {
  /** The provider's own name of the model (what follows the first slash of the agent's `model`). */
  model: string;
  /** Each one becomes a system message of its own. */
  instructions: string[];
  conversation: ConversationEvent[];
  tools: ToolDescription[];
  /** Present when the answer must fit a schema and the provider is to enforce it. */
  output?: { name: string; schema: JsonObject; strict: boolean };
  settings: ModelSettings;
}

/** A tool call as it came from a model: any part may be missing or malformed. */
export interface RawToolCall {
  id?: unknown;
  name?: unknown;
  /** JSON text, or an object where the provider has parsed it. */
  arguments?: unknown;
}

/** What a model answered, before anything in it is trusted. */
export interface ModelResponse {
  content: string;
  toolCalls: RawToolCall[];
  usage: UsageStats | null;
  finishReason: FinishReason;
  /** The text with which the model refused, where the provider marks a refusal as such. */
  refusal?: string;
  /** A parsed object, where the client delivers one instead of text. */
  structured?: JsonValue;
  /** The model's own confidence in [0, 1], where it reports one. */
  confidence?: number | null;
  /** Opaque items to send back with the next request (encrypted reasoning). */
  providerItems?: JsonValue[];
  /** The provider's answer as it came, for debugging. It is never recorded. */
  raw?: unknown;
}

/** What happens while a model answers. */
export interface ModelCallContext {
  /** Aborts the request to the provider. */
  signal: AbortSignal;
  /** Called with each piece of text as it arrives. */
  onText?: (delta: string) => void;
  /** Called with each piece of what the model writes beside text as it arrives: arguments of calls, reasoning, a refusal. */
  onOutput?: (delta: string) => void;
  /** The tags that the run was started with. Absent: none. */
  tags?: readonly string[];
  /** Reads a secret of the worker, by its name or its reference: whatever the worker hands on is cleared of its value. Absent where no worker calls. */
  secret?: (secret: string | SecretReference) => Promise<string>;
  /** Called where the provider reports what the call costs, each time with the whole so far: a call that fails has cost that. */
  onUsage?: (usage: UsageStats) => void;
}

/** What a model can take. A compatible server that lacks something says so here, and the request is built without it. */
export interface ModelCapabilities {
  /** Takes a JSON Schema for the answer. Without it, structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /** Tokens of input that its models take. Left out: known by the name of the model, or assumed. */
  contextTokens?: number;
}

/**
 * The port to a language model. `call` rejects with a `ModelCallError` for what goes wrong, whose code decides whether it is
 * called again, and with the reason of the signal when it is aborted. Any other error counts by its HTTP `status` where it
 * has one, and is otherwise tried again. It must not retry by itself.
 */
export interface ModelClient {
  readonly capabilities: ModelCapabilities;
  call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse>;
}
