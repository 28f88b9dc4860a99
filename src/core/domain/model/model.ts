import type { ModelSettings, PlainToolChoice, ToolDescription } from '../agent/agent-snapshot.ts';
import type { ContentItem } from '../content/content.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { SecretReference } from '../agent/secret-reference.ts';
import type { Notice } from '../record/notice.ts';
import type { FinishReason } from '../record/step.ts';
import type { ModelDelta } from '../stream/delta.ts';
import type { UsageStats } from './usage.ts';

/** One entry of the conversation as a model sees it: the content of one event. */
export interface ConversationEvent {
  author: string;
  content: ContentItem[];
  /** The items that the client returned with this answer. Only those of answers by the same `provider/model`. */
  providerItems?: JsonValue[];
  /** The account of the provider to which they belong, as the client named it. */
  account?: string;
}

/**
 * Everything a provider needs for one call. It is built from the snapshot and the conversation alone, so that every worker builds
 * the same request.
 */
export interface ModelRequest {
  /** The provider's own name of the model (the part of the agent's `model` after the first slash). */
  model: string;
  /** Each one becomes a system message of its own. */
  instructions: string[];
  conversation: ConversationEvent[];
  tools: ToolDescription[];
  /** The schema that the provider is asked to enforce on the answer. Absent: none. */
  output?: { name: string; schema: JsonObject; strict: boolean };
  settings: RequestSettings;
  /**
   * Why the attempt before failed, if this is a further attempt of an `ask` whose `refine` passes it on: the text that the prompt ends
   * with, by itself. A client may log it, or choose another model. Absent: a first attempt, or the model may not
   * learn it, or the `ask` has tools and its failure is in the prompt alone.
   */
  failureContext?: string;
}

/** The settings of one model call. */
export interface RequestSettings extends Omit<ModelSettings, 'toolChoice'> {
  toolChoice?: PlainToolChoice;
}

/** A tool call as it came from a model: any part may be missing or malformed. */
export interface RawToolCall {
  id?: unknown;
  name?: unknown;
  /** JSON text, or an object if the provider has parsed it. */
  arguments?: unknown;
}

/** The answer of a model, before anything in it is checked. */
export interface ModelResponse {
  content: string;
  toolCalls: RawToolCall[];
  usage: UsageStats | null;
  finishReason: FinishReason;
  /** The text with which the model refused, if the provider marks a refusal as such. */
  refusal?: string;
  /** A parsed object, if the client returns one instead of text. */
  structured?: JsonValue;
  /** The model's own confidence in [0, 1], if it reports one. */
  confidence?: number | null;
  /**
   * Opaque items to send back with the next request (reasoning, signatures). They are recorded with the answer, and returned as part of
   * the conversation to the same `provider/model`. At most 256 kB: more is left out, with a notice.
   */
  providerItems?: JsonValue[];
  /** A short name of the account to which they belong, never a key. The client gets it back with the items, and compares it. */
  account?: string;
  /** What the client changed in the request so that the provider took it. Recorded with the answer. */
  notices?: Notice[];
  /** The unchanged answer of the provider, for debugging. It is never recorded. */
  raw?: unknown;
}

/** The callbacks and signals of one model call. */
export interface ModelCallContext {
  /** Aborts the request to the provider. */
  signal: AbortSignal;
  /**
   * Called with each piece of the answer as it arrives: text (also that of a refusal), reasoning, and arguments of calls. Each piece is
   * new, not everything so far. Anything else than a `ModelDelta` is ignored, and so is a piece that comes after the call has ended.
   */
  onDelta?: (delta: ModelDelta) => void;
  /** The tags that the run was started with. Absent: none. */
  tags?: readonly string[];
  /**
   * Reads a secret of the worker, by its name or its reference. The worker removes its value from everything that it passes on.
   * Absent if no worker makes the call.
   */
  secret?: (secret: string | SecretReference) => Promise<string>;
  /**
   * Called whenever the provider reports usage, each time with the total of the call so far, so that the cost of a call that fails
   * is known.
   */
  onUsage?: (usage: UsageStats) => void;
}

/** The features that a model supports. The request to a compatible server that lacks one is built without it. */
export interface ModelCapabilities {
  /** True if it accepts a JSON Schema for the answer. Otherwise structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /** Tokens of input that its models accept. Default: known by the name of the model, or assumed. */
  contextTokens?: number;
}

/**
 * The port to a language model. `call` rejects with a `ModelCallError` if the call fails, and with the reason of the signal if it
 * is aborted. The code of the error decides if the call is retried. Any other error is judged by its HTTP `status` if it has one,
 * and is retried otherwise. `call` must not retry by itself.
 */
export interface ModelClient {
  readonly capabilities: ModelCapabilities;
  call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse>;
  /**
   * Returns a text that is the same for all calls that one limit of the provider counts together, such as the address, the account and
   * the model. While the provider refuses some of them (429), the calls of the process are spaced. Undefined: never. Without this
   * function, the calls of one client for one model are counted together. It is called often, and must not throw.
   */
  rateLimitKey?(request: ModelRequest, context: Pick<ModelCallContext, 'tags'>): string | undefined;
}
