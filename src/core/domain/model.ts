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
  /** `user`, the name of the agent, or `memory`. Results of tools have the agent as their author. */
  author: string;
  /** What was said. */
  content: ContentItem[];
  /** The items that the client returned with this answer. Only those of answers by the same `provider/model`. */
  providerItems?: JsonValue[];
  /** The answer had items, which are not for this model, or which were dropped because the answer has changed. Absent: it had none. */
  lostItems?: true;
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
  /** Each one becomes a separate system message. */
  instructions: string[];
  /** The conversation so far, without the instructions. */
  conversation: ConversationEvent[];
  /** The tools that the model may call. Empty if there are none. */
  tools: ToolDescription[];
  /** Tools that the provider runs by itself. Absent: none. */
  hosted?: HostedTool[];
  /** The schema that the provider is asked to enforce on the answer. Absent: none. */
  output?: { name: string; schema: JsonObject; strict: boolean };
  /** The settings of this call: each that is absent is the provider's default. */
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
  /** Which tools the model may or must call. */
  toolChoice?: PlainToolChoice;
}

/** A tool call as it came from a model: any part may be missing or malformed. */
export interface RawToolCall {
  /** The id that the provider has given to the call. */
  id?: unknown;
  /** The name of the tool. */
  name?: unknown;
  /** JSON text, or an object if the provider has parsed it. */
  arguments?: unknown;
}

/** A file that a model has made. */
export interface ModelFile {
  /** The media type, such as `image/png`. */
  mediaType: string;
  /** Base64. */
  data: string;
}

/** The answer of a model, before anything in it is checked. */
export interface ModelResponse {
  /** The text of the answer. Empty if it has none. */
  content: string;
  /** The calls of tools in the answer, with their arguments as the provider sent them. */
  toolCalls: RawToolCall[];
  /** The tokens that the provider reports; null if it reports none, and the worker then estimates them. */
  usage: UsageStats | null;
  /** Why the answer ended: `stop`, `tool_calls`, `length` if it was cut off, or the provider's own word. */
  finishReason: FinishReason;
  /** The text with which the model refused, if the provider marks a refusal as such. */
  refusal?: string;
  /** A parsed object, if the client returns one instead of text. */
  structured?: JsonValue;
  /** The model's own confidence in [0, 1], if it reports one. */
  confidence?: number | null;
  /**
   * Opaque items to send back with the next request (reasoning, signatures). They are recorded with the answer, and returned as part of
   * the conversation to the same `provider/model`. At most 256 kB, or 4 MB if the worker has a payload store: more is left out, with a notice.
   */
  providerItems?: JsonValue[];
  /** A short name of the account to which they belong, never a key. The client gets it back with the items, and compares it. */
  account?: string;
  /** What the client changed in the request so that the provider took it. Recorded with the answer. */
  notices?: Notice[];
  /** What the provider or its package says about the request, such as settings that it ignored. Recorded with the step: at most 5. */
  warnings?: string[];
  /** The pages and documents that the provider has used for the answer. Recorded with it: at most 50, of 2 kB each. */
  sources?: Source[];
  /**
   * Files that the model has made. The worker puts them into its payload store, and the message of the answer has their places: at most 10,
   * of 15 MB each. Without a store the call fails.
   */
  files?: ModelFile[];
  /** The calls that the provider has made by itself. Recorded with the step: at most 20, each with 1 kB of its input. */
  hosted?: HostedCall[];
  /** The unchanged answer of the provider, for debugging. It is never recorded. */
  raw?: unknown;
}

/** What a client may tell a provider that caches prompts. It is the same in each attempt, and on every worker. */
export interface PromptCache {
  /** A digest that all calls of an agent in a run have in common, and no others: a provider can route them to the same machine. */
  key: string;
  /** The conversation has rested for longer than 5 minutes, and may again: what stays the same is worth being kept for an hour. Absent: it has not. */
  hasRested?: true;
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
  /** For the provider's cache of prompts. Absent if the call is none of an agent. */
  cache?: PromptCache;
  /**
   * Reads the data of a file that a model has made before, as base64: of a part with `spilled` in a message of the assistant. Undefined if
   * it cannot be read. Absent if the worker has no payload store.
   */
  readFile?: (file: SpilledContent) => Promise<string | undefined>;
  /**
   * Called whenever the provider reports usage, each time with the total of the call so far, so that the cost of a call that fails
   * is known.
   */
  onUsage?: (usage: UsageStats) => void;
  /** Called with the limits that the headers of the answer name, so that the governor of the worker keeps to them. */
  onRateLimits?: (limits: RateLimits) => void;
}

/** The limits of a provider for the account of a call, as it names them. */
export interface RateLimits {
  /** Requests per minute that the provider allows. Absent: it did not say. */
  requestsPerMinute?: number;
  /** Tokens per minute that the provider allows. Absent: it did not say. */
  tokensPerMinute?: number;
}

/** The features that a model supports. The request to a compatible server that lacks one is built without it. */
export interface ModelCapabilities {
  /** True if it accepts a JSON Schema for the answer. Otherwise structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /**
   * Tokens of input that its models accept, or a function that says it by the provider's own name of the model: the same in every
   * process. Default: known by the name of the model, or assumed.
   */
  contextTokens?: number | ((model: string) => number | undefined);
}

/**
 * The port to a language model. `call` rejects with a `ModelCallError` if the call fails, and with the reason of the signal if it
 * is aborted. The code of the error decides if the call is retried. Any other error is judged by its HTTP `status` if it has one,
 * and is retried otherwise. `call` must not retry by itself.
 */
export interface ModelClient {
  /** What the model can do, as far as Longhaul has to know it. */
  readonly capabilities: ModelCapabilities;
  /** The batches of its provider, with the same access. Absent: it has none. */
  readonly batches?: BatchClient;
  /** Makes one model call. Throws a `ModelCallError` whose code says if a retry can help. */
  call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse>;
  /**
   * Returns a text that is the same for all calls that one limit of the provider counts together, such as the address, the account and
   * the model. While the provider refuses some of them (429), the calls of the process are spaced. Undefined: never. Without this
   * function, the calls of one client for one model are counted together. It is called often, and must not throw.
   */
  rateLimitKey?(request: ModelRequest, context: Pick<ModelCallContext, 'tags'>): string | undefined;
  /**
   * Returns the id of a hosted tool of the request that the provider of the model does not know; undefined if it knows all. Without this
   * function, it knows none. A call with such a tool is not made, and a list of models skips the model.
   */
  unknownHostedTool?(
    request: ModelRequest,
    context: Pick<ModelCallContext, 'tags' | 'secret'>,
  ): string | undefined | Promise<string | undefined>;
  /**
   * Returns the request in the form in which the client sends it, for readers of a run. It must not send the request, and gets no
   * secrets. If it rejects, its message says why the form is not known. Without this function, readers see the request alone.
   */
  describe?(request: ModelRequest, context: Pick<ModelCallContext, 'cache' | 'tags'>): DescribedRequest | Promise<DescribedRequest>;
  /** Returns what its calls need to be accepted, by name alone: `longhaul doctor` says which of them are missing. Absent: that is not known. */
  credentials?(): readonly Credential[];
}

/** The name of a secret of the worker, or of an environment variable. */
export interface Credential {
  /** Where it is read: from the sources of secrets of the worker, or from the environment. */
  kind: 'secret' | 'variable';
  /** The name of the secret, or of the variable. */
  name: string;
}

/** A request in the form of the API of its provider. */
export interface DescribedRequest {
  /** The API, such as `openai.chat`. */
  api: string;
  /** The path behind the base URL. */
  path: string;
  /** The body as JSON, without secrets. */
  body: JsonObject;
  /** The accounts whose items are in the conversation. A client that makes the call for one of them leaves out those of the others. */
  accounts: readonly string[];
}

/** A request of a batch. */
export interface BatchItem {
  /** 32 hexadecimal digits, different for every call. The provider returns it with the result. */
  id: string;
  /** What the model is asked. */
  request: ModelRequest;
}

/** A batch that is about to be submitted. */
export interface NewBatch {
  /** Names the batch: the same each time that its submission is tried, and different for every batch. */
  key: string;
  /** The time before which it has not been submitted, in milliseconds since the epoch. */
  since: number;
  /** Makes the requests, if the provider does not have the batch yet. An empty list: there is nothing to submit. */
  items: () => Promise<BatchItem[]>;
}

/** The result of one request of a batch. */
export type BatchResult =
  | { id: string; type: 'answered'; answer: ModelResponse }
  | { id: string; type: 'failed'; error: ModelCallError }
  /** The provider has not answered it before the end of the batch, or the batch was cancelled. It costs nothing. */
  | { id: string; type: 'expired' };

/** The signal and the facts of one operation. */
export interface BatchContext extends Pick<ModelCallContext, 'signal' | 'tags' | 'secret'> {
  /** The provider's own name of the model of all requests of the batch. */
  model: string;
}

/** The state of a batch. */
export interface BatchStatus {
  /** No more results follow. */
  hasEnded: boolean;
  /** Why the provider has refused the batch as a whole: it has no results. */
  error?: ModelCallError;
}

/**
 * The port to the batches of a provider. Each method rejects with a `ModelCallError` if it fails, whose code decides if it is tried again,
 * and with the reason of the signal if that is aborted.
 */
export interface BatchClient {
  /** What the provider takes in one batch. */
  readonly limits: { readonly items: number; readonly bytes: number };
  /** True if the key of the provider depends on the tags of runs: calls with other tags go into other batches. */
  readonly byTags?: boolean;
  /**
   * Submits a batch, and returns the id that the provider has given it; undefined if there was nothing to submit. A provider that can name
   * batches is first asked for one with this key, which an earlier attempt has submitted: its calls are then not paid for twice.
   */
  submit(batch: NewBatch, context: BatchContext): Promise<string | undefined>;
  /** Returns whether a batch has ended, as its provider says. */
  status(id: string, context: BatchContext): Promise<BatchStatus>;
  /** Yields the results of a batch that has ended, in any order. */
  results(id: string, context: BatchContext): AsyncIterable<BatchResult>;
  /** Asks the provider to answer no further requests. Does nothing for a batch that has ended. */
  cancel(id: string, context: BatchContext): Promise<void>;
}

/** Returns the id of a hosted tool of a request that its provider does not know; undefined if it knows all. A client that cannot say knows none. */
export function unknownHostedTool(
  client: ModelClient,
  request: ModelRequest,
  context: Pick<ModelCallContext, 'tags' | 'secret'>,
): string | undefined | Promise<string | undefined> {
  const [first] = request.hosted ?? [];
  if (first === undefined || client.unknownHostedTool !== undefined) return client.unknownHostedTool?.(request, context);
  return first.id;
}

/**
 * The name of a model: the name of a provider of the worker, a slash, and the provider's own name of the model, which may contain
 * slashes.
 */
export type ModelName = `${string}/${string}`;

/** Returns the name of the provider, and its own name of the model. A name without a slash has no provider. */
export function partsOfModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/');
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) };
}

/** Returns the name if it is `provider/model`; otherwise throws a UsageError that begins with `owner`. */
export function modelName(owner: string, model: string): ModelName {
  const slash = model.indexOf('/');
  if (slash > 0 && slash < model.length - 1) return model as ModelName;
  const missing = slash > 0 ? 'name after the provider' : 'provider';
  throw new UsageError(`${owner}: model "${model}" has no ${missing}: write "provider/model"`);
}

/** The outcome of checking a structured answer. The answer itself is not repeated if it can be read from the content. */
export type OutputVerdict =
  /** The text (or the argument of `final_answer`) is the output as it stands. */
  | { type: 'fits' }
  /** The answer fits, and parsing changed it (defaults, transforms). */
  | { type: 'parsed'; value: JsonValue }
  /** The answer does not fit; the model reads the problem. */
  | { type: 'problem'; problem: string };

/** A model response as it enters history: checked, with every call named and identified. */
export interface RecordedResponse extends CallReview, AnswerOrigin {
  /** The id of the event that records the response. */
  id: string;
  /** At most one assistant message, then the tool calls in the model's order. Their ids are unique among those that the model has seen. */
  content: ContentItem[];
  finishReason: FinishReason;
  usage: UsageStats | null;
  /** Call id → the approval that the call requires. Calls that need none are left out. */
  approvals?: Record<string, ApprovalRequirement>;
  /** What reviews calls in a separate activity has reviewed them. */
  reviewed?: true;
  /** The cost of the failed attempts before this response. */
  failedAttempts?: Spent;
  /** The provider has made it in a batch, at the price of one. */
  inBatch?: true;
  output?: OutputVerdict;
  /** The checks of the answer of an `ask` with tools. Absent for a response with further tool calls. */
  verdict?: AnswerVerdict;
  refusal?: string;
  confidence?: number;
  providerItems?: JsonValue[];
  /** What was changed in the request so that the provider took it. */
  notices?: Notice[];
  warnings?: string[];
  /**
   * The first part of the request that differs from the call before, such as `instruction 2`; null if none does. Only if the provider has
   * read much less from its cache than that call had left there, and the same worker made both.
   */
  changedPart?: string | null;
  /** The pages and documents that the provider has used. */
  sources?: Source[];
  /** The calls that the provider has made by itself. */
  hosted?: HostedCall[];
  /** The entries of the memory that the model was given with this call for the first time: the loop records them before the answer. */
  recalled?: Recalled;
  /** The time at which the worker received it, in milliseconds since the epoch: the clock of its cells. Only for agents that run code. */
  receivedAt?: number;
}

/** The beginning of the items that a provider sent with an answer: whose they are. The items follow it in the list. */
interface ProviderItemsOwner {
  /** The model that gave the answer, as `provider/model`. No other one gets the items back. */
  by: string;
  /** The account that made the call, as the client names it. The client compares it. Absent if it names none. */
  account?: string;
}

/** Returns items in the form of the record. */
export function recordedItems(owner: ProviderItemsOwner, items: readonly JsonValue[]): JsonValue[] {
  const { by, account } = owner;
  return [{ by, ...defined({ account }) }, ...items];
}

/** Returns the items of a record that are for a model, with their account, or that the record has others. Nothing in the record is trusted. */
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
 * The beginning of the message of a model call that was not sent, because the limits of its provider are used up, or the provider refuses other calls:
 * its code is that of a refusal, and nothing else in the record tells the two apart.
 */
export const NOT_SENT = 'Not sent yet: ';

/** True for the error, or the recorded failure, of a model call that was not sent. */
export function isNotSent(failure: unknown): boolean {
  return errorMessage(failure).startsWith(NOT_SENT);
}

/** What traces say of such a call, where a refused one has its code. */
export const NOT_SENT_ERROR = 'not_sent';

/**
 * The details of a heartbeat or a failure that report how often a provider has refused a model call. The next attempt reads them from the
 * last heartbeat, and a reader of the status from the last failure.
 */
export interface RefusedDetails extends JsonObject {
  refused: {
    /** The refusals so far, which do not count as attempts. */
    count: number;
    /** Milliseconds that the call waited for a worker before its first attempt. */
    queuedMs: number;
    /** The time at which the call is given up, ISO 8601. */
    givesUpAt?: string;
  };
}

/** A longer wait for a worker cannot be: the activity would have timed out. */
const LONGEST_QUEUE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Returns the time of a wait for a worker; 0 for one that cannot be. */
export function believedQueueMs(ms: unknown): number {
  return typeof ms === 'number' && ms > 0 && ms <= LONGEST_QUEUE_MS ? Math.round(ms) : 0;
}

/** Reads the refusals from the details of a heartbeat or a failure. Nothing in the details is trusted. */
export function refusalDetails(details: unknown): RefusedDetails['refused'] | undefined {
  const known = activityDetails(details);
  const refused: unknown = isJsonObject(known) ? known['refused'] : undefined;
  if (!isJsonObject(refused)) return undefined;
  const { count, queuedMs, givesUpAt } = refused;
  if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) return undefined;
  return { count, queuedMs: believedQueueMs(queuedMs), ...(typeof givesUpAt === 'string' ? { givesUpAt } : {}) };
}

/** The kind of content that one event has: messages to the model, a response of the model, or results of calls. */
type Kind = 'input' | 'response' | 'results';

/**
 * Divides a conversation into events as a run records them: one for each response of the model, one for each batch of tool results,
 * and one for consecutive messages to the model. Responses and results are authored by the agent, everything else by the user.
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

/** The way in which a conversation holds calls and results. */
interface Notation<Entry> {
  /** The calls that an entry asks for, in its order. */
  callsIn: (entry: Entry) => readonly AskedCall[];
  /** The ids of the calls that an entry answers. */
  answeredBy: (entry: Entry) => readonly string[];
  /** True for an entry that has results alone. */
  isOfResults: (entry: Entry) => boolean;
  /** Makes the entries that tell of calls of an entry that they were interrupted. */
  interrupted: (calls: readonly AskedCall[], asking: Entry) => Entry[];
}

/**
 * Adds a result for every call that has none, because providers refuse a conversation with an unanswered call. The added result
 * says that the call was interrupted. It stands right after the entry of the call and the results that follow that entry. A call
 * without an id cannot be answered and stays unchanged. A conversation without such calls is returned unchanged, so patching
 * twice has the effect of patching once.
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

/** True for a call that no result answers yet. Of two calls with the same id, only the first is. */
function isDangling({ id }: AskedCall, answered: Set<string>): boolean {
  if (id === '' || answered.has(id)) return false;
  answered.add(id);
  return true;
}

/** Adds a result for every call of a conversation that has none. */
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
