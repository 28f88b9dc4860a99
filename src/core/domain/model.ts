import type { ModelSettings, PlainToolChoice, ToolDescription } from './agent.ts';
import type { ApprovalRequirement } from './approvals.ts';
import {
  type ContentItem,
  type HostedCall,
  type HostedTool,
  isToolCall,
  isToolResult,
  type Source,
  type SpilledContent,
  type ToolResult,
} from './content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import type { SecretReference } from './deps.ts';
import { errorMessage, type ModelCallError, UsageError } from './errors.ts';
import type { AnswerOrigin } from './fallback.ts';
import type { CallReview } from './parts.ts';
import type { Recalled } from './memory.ts';
import { activityDetails } from './missing-definitions.ts';
import type { Notice } from './run.ts';
import type { ModelDelta } from './stream.ts';
import { type FinishReason, INTERRUPTED_CALL } from './tool-calls.ts';
import type { Spent, UsageStats } from './usage.ts';
import type { AnswerVerdict } from './verdicts.ts';

/** One entry of the conversation as a model sees it: the content of one event. */
export interface ConversationEvent {
  /** `user`, the name of the agent, or `memory`. The author of tool results is the agent. */
  author: string;
  /** The messages, calls and results of the entry, in order. */
  content: ContentItem[];
  /** The items that the client returned with this answer. Present only for answers of the same `provider/model`. */
  providerItems?: JsonValue[];
  /** The answer had items, but they are not for this model, or were dropped because the answer was changed. Absent: it had none. */
  lostItems?: true;
  /** The provider account to which they belong, as named by the client. */
  account?: string;
}

/**
 * Everything that a provider needs for one call. It is built from the snapshot and the conversation alone, so that every worker builds the
 * same request.
 */
export interface ModelRequest {
  /** The provider's own model name (the part of the agent's `model` after the first slash). */
  model: string;
  /** Each becomes a separate system message. */
  instructions: string[];
  /** The conversation so far, without the instructions. */
  conversation: ConversationEvent[];
  /** The tools that the model may call. Empty if there are none. */
  tools: ToolDescription[];
  /** Tools that the provider runs itself. Absent: none. */
  hosted?: HostedTool[];
  /** The schema that the provider should enforce on the answer. Absent: none. */
  output?: { name: string; schema: JsonObject; strict: boolean };
  /** The settings of this call. An absent one is the provider's default. */
  settings: RequestSettings;
  /**
   * Why the previous attempt failed, for a further attempt of an `ask` whose `refine` passes the failure on. It is the same text as at the
   * end of the prompt. A client may log it, or choose another model. Absent: a first attempt, the failure is not passed on, or the `ask`
   * has tools, and only the prompt contains the failure.
   */
  failureContext?: string;
}

/** The settings of one model call. */
export interface RequestSettings extends Omit<ModelSettings, 'toolChoice'> {
  /** The tools that the model may or must call. */
  toolChoice?: PlainToolChoice;
}

/** A tool call as received from a model: any part may be missing or malformed. */
export interface RawToolCall {
  /** The provider's id of the call. */
  id?: unknown;
  /** The name of the tool. */
  name?: unknown;
  /** JSON text, or an object if the provider has already parsed it. */
  arguments?: unknown;
}

/** A file made by a model. */
export interface ModelFile {
  /** The media type, such as `image/png`. */
  mediaType: string;
  /** Base64. */
  data: string;
}

/** The answer of a model before any checks. */
export interface ModelResponse {
  /** The text of the answer. Empty if it has no text. */
  content: string;
  /** The tool calls in the answer, with arguments as the provider sent them. */
  toolCalls: RawToolCall[];
  /** The tokens reported by the provider, or null if it reports none: the worker then estimates them. */
  usage: UsageStats | null;
  /** Why the answer ended: `stop`, `tool_calls`, `length` if it was cut off, or the provider's own word. */
  finishReason: FinishReason;
  /** The model's refusal text, if the provider marks refusals. */
  refusal?: string;
  /** A parsed object, if the client returns one instead of text. */
  structured?: JsonValue;
  /** The model's own confidence in [0, 1], if it reports one. */
  confidence?: number | null;
  /**
   * Opaque items to send back with the next request (reasoning, signatures). They are recorded with the answer, and returned in the
   * conversation to the same `provider/model`. At most 256 kB, or 4 MB if the worker has a payload store: more is dropped, with a notice.
   */
  providerItems?: JsonValue[];
  /** A short name of the account to which they belong, never a key. The client receives it with the items, and compares it. */
  account?: string;
  /** What the client changed in the request to make the provider accept it. Recorded with the answer. */
  notices?: Notice[];
  /** The warnings of the provider or its package about the request, such as ignored settings. Recorded with the step: at most 5. */
  warnings?: string[];
  /** The pages and documents that the provider used for the answer. Recorded with it: at most 50, of 2 kB each. */
  sources?: Source[];
  /**
   * Files made by the model. The worker stores them in its payload store, and the answer's message contains their locations: at most 10, of
   * 15 MB each. Without a store, the call fails.
   */
  files?: ModelFile[];
  /** The calls that the provider ran itself. Recorded with the step: at most 20, each with 1 kB of its input. */
  hosted?: HostedCall[];
  /** The provider's unchanged answer, for debugging. It is never recorded. */
  raw?: unknown;
}

/** Hints that a client can give to a provider that caches prompts. The same in each attempt and on every worker. */
export interface PromptCache {
  /** A digest shared by all calls of an agent in a run, and by no others: a provider can route them to the same machine. */
  key: string;
  /**
   * The conversation has been idle for more than 5 minutes, and may be again: its unchanged part is worth caching for an hour. Absent: it
   * has not.
   */
  hasRested?: true;
}

/** The callbacks and signals of one model call. */
export interface ModelCallContext {
  /** Aborts the request to the provider. */
  signal: AbortSignal;
  /**
   * Called with each piece of the answer as it arrives: text (including a refusal's), reasoning, and arguments of calls. Each piece is new,
   * not cumulative. Anything other than a `ModelDelta` is ignored, and so is a piece that arrives after the call has ended.
   */
  onDelta?: (delta: ModelDelta) => void;
  /** The tags that the run was started with. Absent: none. */
  tags?: readonly string[];
  /**
   * Reads a secret of the worker by name or reference. The worker removes its value from everything that it passes on. Absent outside of a
   * worker.
   */
  secret?: (secret: string | SecretReference) => Promise<string>;
  /** For the provider's prompt cache. Absent if the call is not made for an agent. */
  cache?: PromptCache;
  /**
   * Reads the data of a file that a model made earlier, as base64, from the `spilled` of a part in an assistant's message. Undefined if it
   * cannot be read. Absent if the worker has no payload store.
   */
  readFile?: (file: SpilledContent) => Promise<string | undefined>;
  /** Called whenever the provider reports usage, each time with the call's total so far, so that the cost of a failed call is known. */
  onUsage?: (usage: UsageStats) => void;
  /** Called with the rate limits in the answer's headers, so that the worker's governor respects them. */
  onRateLimits?: (limits: RateLimits) => void;
}

/** A provider's rate limits for the account of a call. */
export interface RateLimits {
  /** Requests per minute allowed by the provider. Absent: not reported. */
  requestsPerMinute?: number;
  /** Tokens per minute allowed by the provider. Absent: not reported. */
  tokensPerMinute?: number;
}

/** The features that a model supports. A request to a compatible server that lacks one is built without it. */
export interface ModelCapabilities {
  /** True if it accepts a JSON Schema for the answer. Otherwise structured answers use a `final_answer` tool. */
  structuredOutput: boolean;
  /**
   * The input tokens that its models accept, or a function that returns them by the provider's own model name, the same in every process.
   * Default: known by the model's name, or assumed.
   */
  contextTokens?: number | ((model: string) => number | undefined);
}

/**
 * The port to a language model. `call` rejects with a `ModelCallError` if the call fails, and with the signal's reason if it is aborted.
 * The code of the error decides whether the call is retried. Any other error is judged by its HTTP `status` if it has one, and is retried
 * otherwise. `call` must not retry by itself.
 */
export interface ModelClient {
  /** The features of the model that Longhaul needs to know. */
  readonly capabilities: ModelCapabilities;
  /** The provider's batches, with the same access. Absent: none. */
  readonly batches?: BatchClient;
  /** Makes one model call. Throws a `ModelCallError` whose code says whether a retry can help. */
  call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse>;
  /**
   * Returns a key shared by all calls that count against one rate limit of the provider, such as its URL, account and model. While the
   * provider refuses some of them (429), the process spaces these calls. Undefined: never spaced. Without this function, the calls of one
   * client for one model share a key. Called often; must not throw.
   */
  rateLimitKey?(request: ModelRequest, context: Pick<ModelCallContext, 'tags'>): string | undefined;
  /**
   * Returns the id of a hosted tool in the request that the model's provider does not know, or undefined if it knows all of them. Without
   * this function, it knows none. A call with an unknown tool is not made, and a list of models skips the model.
   */
  unknownHostedTool?(
    request: ModelRequest,
    context: Pick<ModelCallContext, 'tags' | 'secret'>,
  ): string | undefined | Promise<string | undefined>;
  /**
   * Returns the request in the form that the client sends, for readers of a run. It must not send the request, and receives no secrets. If
   * it rejects, its message says why the form is unknown. Without this function, readers see only the request itself.
   */
  describe?(request: ModelRequest, context: Pick<ModelCallContext, 'cache' | 'tags'>): DescribedRequest | Promise<DescribedRequest>;
  /** Returns the names of the credentials that its calls need: `longhaul doctor` reports missing ones. Absent: unknown. */
  credentials?(): readonly Credential[];
}

/** The name of a worker secret or an environment variable. */
export interface Credential {
  /** Where it is read: the worker's secret sources, or the environment. */
  kind: 'secret' | 'variable';
  /** The name of the secret or variable. */
  name: string;
}

/** A request in the form of its provider's API. */
export interface DescribedRequest {
  /** The API, such as `openai.chat`. */
  api: string;
  /** The path after the base URL. */
  path: string;
  /** The body as JSON, without secrets. */
  body: JsonObject;
  /** The accounts whose items are in the conversation. A client that calls with one account leaves out the items of the others. */
  accounts: readonly string[];
}

/** A request of a batch. */
export interface BatchItem {
  /** 32 hexadecimal digits, different for every call. The provider returns it with the result. */
  id: string;
  /** The request to the model. */
  request: ModelRequest;
}

/** A batch that is about to be submitted. */
export interface NewBatch {
  /** The key of the batch: the same for each attempt to submit it, and different for every batch. */
  key: string;
  /** A time before its first submission, in milliseconds since the epoch. */
  since: number;
  /** Makes the requests, if the provider does not have the batch yet. An empty list: nothing to submit. */
  items: () => Promise<BatchItem[]>;
}

/** The result of one request of a batch. */
export type BatchResult =
  | { id: string; type: 'answered'; answer: ModelResponse }
  /** `isAdapted`: the provider refused the request, and the next request of the call is another one, which it may accept. */
  | { id: string; type: 'failed'; error: ModelCallError; isAdapted?: true }
  /** The provider did not answer it before the end of the batch, or the batch was cancelled. It costs nothing. */
  | { id: string; type: 'expired' };

/** The signal and the context of one operation. */
export interface BatchContext extends Pick<ModelCallContext, 'signal' | 'tags' | 'secret'> {
  /** The provider's own model name, the same for all requests of the batch. */
  model: string;
}

/** The state of a batch. */
export interface BatchStatus {
  /** No more results follow. */
  hasEnded: boolean;
  /** Why the provider refused the whole batch: it has no results. */
  error?: ModelCallError;
}

/**
 * The port to a provider's batches. Each method rejects with a `ModelCallError` if it fails, whose code decides whether it is retried, and
 * with the signal's reason if that is aborted.
 */
export interface BatchClient {
  /** The maximum size of one batch. */
  readonly limits: { readonly items: number; readonly bytes: number };
  /** True if the provider's key depends on the tags of runs: calls with different tags go into different batches. */
  readonly byTags?: boolean;
  /**
   * Submits a batch and returns the provider's id, or undefined if there was nothing to submit. A provider that can name batches is first
   * asked for one with this key, submitted by an earlier attempt, so that its calls are not paid for twice.
   */
  submit(batch: NewBatch, context: BatchContext): Promise<string | undefined>;
  /** Returns whether a batch has ended, according to its provider. */
  status(id: string, context: BatchContext): Promise<BatchStatus>;
  /** Yields the results of an ended batch, in any order. */
  results(id: string, context: BatchContext): AsyncIterable<BatchResult>;
  /** Asks the provider not to answer further requests. Does nothing for an ended batch. */
  cancel(id: string, context: BatchContext): Promise<void>;
}

/** Returns the id of a hosted tool that the request's provider does not know, or undefined. A client without this function knows none. */
export function unknownHostedTool(
  client: ModelClient,
  request: ModelRequest,
  context: Pick<ModelCallContext, 'tags' | 'secret'>,
): string | undefined | Promise<string | undefined> {
  const [first] = request.hosted ?? [];
  if (first === undefined || client.unknownHostedTool !== undefined) return client.unknownHostedTool?.(request, context);
  return first.id;
}

/** The name of a model: the name of a worker's provider, a slash, and the provider's own model name, which may contain slashes. */
export type ModelName = `${string}/${string}`;

/** Returns the provider's name and its own model name. A name without a slash has no provider. */
export function partsOfModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/');
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) };
}

/** Returns the name if it has the form `provider/model`; otherwise throws a UsageError that begins with `owner`. */
export function modelName(owner: string, model: string): ModelName {
  const slash = model.indexOf('/');
  if (slash > 0 && slash < model.length - 1) return model as ModelName;
  const missing = slash > 0 ? 'name after the provider' : 'provider';
  throw new UsageError(`${owner}: model "${model}" has no ${missing}: write "provider/model"`);
}

/** The outcome of checking a structured answer. The answer is not repeated if the content contains it. */
export type OutputVerdict =
  /** The text (or the argument of `final_answer`) is the output, unchanged. */
  | { type: 'fits' }
  /** The answer fits, and parsing changed it (defaults, transforms). */
  | { type: 'parsed'; value: JsonValue }
  /** The answer does not fit. The model reads the problem. */
  | { type: 'problem'; problem: string };

/** A model response as recorded in the history: checked, and with a name and an id for every call. */
export interface RecordedResponse extends CallReview, AnswerOrigin {
  /** The id of the event that records the response. */
  id: string;
  /**
   * At most one assistant message, then the tool calls in the model's order. Their ids are unique in the run.
   */
  content: ContentItem[];
  finishReason: FinishReason;
  usage: UsageStats | null;
  /** Call id → the required approval. Calls that need none are left out. */
  approvals?: Record<string, ApprovalRequirement>;
  /** The reviews in a separate activity are complete. */
  reviewed?: true;
  /** The cost of the failed attempts before this response. */
  failedAttempts?: Spent;
  /** The provider made it in a batch, at the batch price. */
  inBatch?: true;
  output?: OutputVerdict;
  /** The checks of the answer of an `ask` with tools. Absent for a response with more tool calls. */
  verdict?: AnswerVerdict;
  refusal?: string;
  confidence?: number;
  providerItems?: JsonValue[];
  /** What was changed in the request to make the provider accept it. */
  notices?: Notice[];
  warnings?: string[];
  /**
   * The first part of the request that differs from the previous call, such as `instruction 2`, or null if none differs. Present only if
   * the provider read much less from its cache than that call had left there, and the same worker made both calls.
   */
  changedPart?: string | null;
  /** The pages and documents that the provider used. */
  sources?: Source[];
  /** The calls that the provider ran itself. */
  hosted?: HostedCall[];
  /** The memory entries that the model first received with this call: the loop records them before the answer. */
  recalled?: Recalled;
  /** The time when the worker received it, in milliseconds since the epoch: the clock of its cells. Only for agents that run code. */
  receivedAt?: number;
}

/** The header of the items that a provider sent with an answer: their owner. The items follow it in the list. */
interface ProviderItemsOwner {
  /** The model that gave the answer, as `provider/model`. Only this model gets the items back. */
  by: string;
  /** The account that made the call, as the client names it. The client compares it. Absent if the client names none. */
  account?: string;
}

/** Returns items in their recorded form. */
export function recordedItems(owner: ProviderItemsOwner, items: readonly JsonValue[]): JsonValue[] {
  const { by, account } = owner;
  return [{ by, ...defined({ account }) }, ...items];
}

/**
 * Returns the recorded items for a model, with their account, or `lostItems` if the record only has items for another model. Nothing in the
 * record is trusted.
 */
export function itemsFor(
  model: string,
  recorded: readonly JsonValue[] = [],
): Pick<ConversationEvent, 'providerItems' | 'account' | 'lostItems'> {
  const [owner, ...items] = recorded;
  if (!isJsonObject(owner) || typeof owner['by'] !== 'string') return {};
  if (owner['by'] !== model || items.length === 0) return { lostItems: true };
  const { account } = owner;
  return { providerItems: items, ...(typeof account === 'string' ? { account } : {}) };
}

/**
 * The beginning of the message of a model call that was not sent, because its provider's rate limits are used up or the provider is
 * refusing other calls. Its code is the same as a refusal's, so only this text distinguishes the two in the record.
 */
export const NOT_SENT = 'Not sent yet: ';

/** True for the error, or the recorded failure, of a model call that was not sent. */
export function isNotSent(failure: unknown): boolean {
  return errorMessage(failure).startsWith(NOT_SENT);
}

/** The error that traces show for such a call, instead of a code. */
export const NOT_SENT_ERROR = 'not_sent';

/**
 * The details of a heartbeat or failure that report how often a provider has refused a model call. The next attempt reads them from the
 * last heartbeat, and a reader of the status from the last failure.
 */
export interface RefusedDetails extends JsonObject {
  refused: {
    /** The number of refusals so far, which do not count as attempts. */
    count: number;
    /** Milliseconds that the call waited for a worker before its first attempt. */
    queuedMs: number;
    /** The time when the call is given up, ISO 8601. */
    givesUpAt?: string;
  };
}

/** A longer wait for a worker is impossible: the activity would have timed out. */
const LONGEST_QUEUE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Returns the time of a wait for a worker, or 0 for an impossible value. */
export function believedQueueMs(ms: unknown): number {
  return typeof ms === 'number' && ms > 0 && ms <= LONGEST_QUEUE_MS ? Math.round(ms) : 0;
}

/** Reads the refusals from the details of a heartbeat or failure. Nothing in the details is trusted. */
export function refusalDetails(details: unknown): RefusedDetails['refused'] | undefined {
  const known = activityDetails(details);
  const refused: unknown = isJsonObject(known) ? known['refused'] : undefined;
  if (!isJsonObject(refused)) return undefined;
  const { count, queuedMs, givesUpAt } = refused;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined;
  return { count, queuedMs: believedQueueMs(queuedMs), ...(typeof givesUpAt === 'string' ? { givesUpAt } : {}) };
}

/** The kind of content of an event: messages to the model, a response of the model, or results of calls. */
type Kind = 'input' | 'response' | 'results';

/**
 * Divides a conversation into events as a run records them: one per response of the model, one per batch of tool results, and one for
 * consecutive messages to the model. The author of responses and results is the agent; everything else is the user's.
 */
export function givenEvents(messages: readonly ContentItem[], agent: string): ConversationEvent[] {
  const events: ConversationEvent[] = [];
  let last: Kind | undefined;
  for (const item of messages) {
    const kind = eventKind(item);
    const event = kind === last && !beginsResponse(item) ? events.at(-1) : undefined;
    if (event === undefined) events.push({ author: kind === 'input' ? 'user' : agent, content: [item] });
    else event.content.push(item);
    last = kind;
  }
  return events;
}

function eventKind(item: ContentItem): Kind {
  if (item.type === 'tool_result') return 'results';
  return isToolCall(item) || item.role === 'assistant' ? 'response' : 'input';
}

/** True for a text of the model: a response has at most one, before its calls. */
function beginsResponse(item: ContentItem): boolean {
  return item.type === 'message' && item.role === 'assistant';
}

/** A call that a result may answer. */
interface AskedCall {
  id: string;
  name: string;
}

/** The representation of calls and results in a conversation. */
interface Notation<Entry> {
  /** The calls that an entry requests, in order. */
  callsIn: (entry: Entry) => readonly AskedCall[];
  /** The ids of the calls that an entry answers. */
  answeredBy: (entry: Entry) => readonly string[];
  /** True for an entry that contains only results. */
  isOfResults: (entry: Entry) => boolean;
  /** Makes the entries that report an entry's calls as interrupted. */
  interrupted: (calls: readonly AskedCall[], asking: Entry) => Entry[];
}

/**
 * Adds a result for every unanswered call, because providers refuse a conversation with one. The result says that the call was interrupted.
 * It is placed right after the call's entry and the results that follow it. A call without an id cannot be answered and stays unchanged. A
 * conversation without such calls is returned unchanged, so the function is idempotent.
 */
export function withMissingResults<Entry>(conversation: Entry[], notation: Notation<Entry>): Entry[] {
  const { callsIn, answeredBy, isOfResults, interrupted } = notation;
  const answered = new Set(conversation.flatMap(answeredBy));
  const patched: Entry[] = [];
  let missing: Entry[] = [];
  for (const entry of conversation) {
    if (!isOfResults(entry)) patched.push(...missing.splice(0));
    patched.push(entry);
    const calls = callsIn(entry).filter((call) => isDangling(call, answered));
    if (calls.length > 0) missing = interrupted(calls, entry);
  }
  patched.push(...missing);
  return patched.length === conversation.length ? conversation : patched;
}

/** True for a call without a result. Of two calls with the same id, only the first counts. */
function isDangling({ id }: AskedCall, answered: Set<string>): boolean {
  if (id === '' || answered.has(id)) return false;
  answered.add(id);
  return true;
}

/** Adds a result for every unanswered call of a conversation. */
export function patchDangling(conversation: ConversationEvent[]): ConversationEvent[] {
  return withMissingResults(conversation, {
    callsIn: ({ content }) => content.filter(isToolCall).map(({ toolCallId, name }) => ({ id: toolCallId, name })),
    answeredBy: ({ content }) => content.filter(isToolResult).map(({ toolCallId }) => toolCallId),
    isOfResults: ({ content }) => content.every(isToolResult),
    interrupted: (calls, { author }) => [{ author, content: calls.map(interruptedResult) }],
  });
}

function interruptedResult({ id, name }: AskedCall): ToolResult {
  return { type: 'tool_result', toolCallId: id, name, status: 'error', content: [INTERRUPTED_CALL] };
}
