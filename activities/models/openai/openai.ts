import { createHash } from 'node:crypto';
import OpenAI, { APIError } from 'openai';
import type { ToolDescription } from '../../../src/core/domain/agent.ts';
import { defined, type JsonObject } from '../../../src/core/domain/json.ts';
import { isSecretReference, type SecretReference } from '../../../src/core/domain/deps.ts';
import type { ContentItem, ContentPart, HostedTool, Message } from '../../../src/core/domain/content.ts';
import { errorCode, errorMessage, ModelCallError, UsageError } from '../../../src/core/domain/errors.ts';
import type {
  BatchClient,
  ConversationEvent,
  Credential,
  DescribedRequest,
  ModelCallContext,
  ModelClient,
  ModelRequest,
  ModelResponse,
  PromptCache,
  RequestSettings,
} from '../../../src/core/domain/model.ts';
import { type Duration, timerMilliseconds } from '../../../src/core/domain/time.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import { type OptionTable, requireKnown } from '../../../src/define/option-checks.ts';
import { requireRealModelsAllowed } from '../../../src/model/forbid-models.ts';
import { classifyError } from '../errors/classify-error.ts';
import { AnswerFault, ReportedFault, shallowBody } from '../errors/error-body.ts';
import { checkTooLong, type TooLongRule } from '../errors/too-long.ts';
import { reportRateLimits } from '../rate-limits.ts';
import { LearnedRules, withBreakpoints } from './adapted-call.ts';
import { givesEncryptedReasoning, type OpenAICapabilities, openaiCapabilities } from './capabilities.ts';
import { ChatAnswer } from './chat-answer.ts';
import {
  argumentsText,
  audioFormat,
  conversationMessages,
  dataUrl,
  functionName,
  placeholder,
  plainText,
  partsBeside,
  toolOutputText,
} from './chat-messages.ts';
import { type Exchange, exchange } from './exchange.ts';
import { ResponsesAnswer, responsesTool, unknownTool } from './responses-answer.ts';
import { OpenAIBatches } from './openai-batches.ts';
import { accountFingerprint, ofAccount, type PlacedParts, placedParts } from './opaque-parts.ts';
import { type Api, withinRules } from './request-rules.ts';

/** Options for a provider with OpenAI's API. Every field is optional. */
export interface OpenAIOptions {
  /**
   * The API key: a text, a secret of the worker such as `secret('openai')`, or a function that chooses one for each call, for instance by
   * the run's tags. Default: `OPENAI_API_KEY` of the environment, read when a call is made. Servers other than OpenAI's may need none.
   *
   * `({ tags }) => secret(tags.includes('acme') ? 'openai/acme' : 'openai/default')`
   */
  apiKey?: ApiKey;
  /** The URL of the API. Default: `OPENAI_BASE_URL` of the environment, otherwise OpenAI. */
  baseURL?: string;
  /** The API to use. Default: `responses` with OpenAI, `chat` (Chat Completions) with every other server. */
  api?: 'chat' | 'responses';
  /** The id of the organization that is billed for calls. */
  organization?: string;
  /** The longest time without data, after which a call is aborted and retried. Default 5 minutes. */
  timeout?: Duration;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /**
   * The server's capabilities, if they differ from OpenAI's. They are a client's initial values: a refusal that contradicts them is learned
   * for the rest of the process.
   */
  capabilities?: Partial<OpenAICapabilities>;
  /**
   * The server's own wordings for a conversation that is too long: `[{ status: 400, text: 'input too big' }]`. The conversation is then
   * compacted, and the model asked again. The wordings of about thirty servers are known.
   */
  tooLong?: readonly TooLongRule[];
}

const OPENAI_URL = 'https://api.openai.com/v1';
/** The maximum number of keys with a cached client, for instance one for each tenant. */
const MAX_CLIENTS = 100;
const OPTIONS: OptionTable<OpenAIOptions> = {
  apiKey: true,
  baseURL: true,
  api: true,
  organization: true,
  timeout: true,
  headers: true,
  capabilities: true,
  tooLong: true,
};

/** Returns the batch client of OpenAI, or of a server with its API. It is the same as the one of `openai()` with the same options. */
export function openaiBatch(options: OpenAIOptions = {}): BatchClient {
  return new OpenAIModelClient(...clientArguments(options, 'openaiBatch')).batches;
}

/**
 * Creates a model client for OpenAI and for every server with its API (vLLM, Ollama, llama.cpp, gateways). Reads and
 * opens nothing before the first call. Throws a `UsageError` for invalid options.
 */
export function openai(options: OpenAIOptions = {}): ModelClient {
  return new OpenAIModelClient(...clientArguments(options, 'openai'));
}

function clientArguments(options: OpenAIOptions, owner: string): ConstructorParameters<typeof OpenAIModelClient> {
  requireKnown(owner, options, OPTIONS);
  const url = parseUrl(options.baseURL || process.env['OPENAI_BASE_URL'] || OPENAI_URL);
  return [options, url, timerMilliseconds(options.timeout ?? '5m', `${owner}: "timeout"`)];
}

class OpenAIModelClient implements ModelClient {
  readonly capabilities: OpenAICapabilities;
  readonly batches: BatchClient;
  readonly #options: OpenAIOptions;
  readonly #url: URL;
  readonly #timeoutMs: number;
  readonly #isOpenAI: boolean;
  readonly #api: 'chat' | 'responses';
  readonly #tooLong: readonly TooLongRule[];
  readonly #accounts = new Accounts();
  readonly #learned = new LearnedRules();
  /** Clients by API key, the newest last. */
  readonly #clients = new Map<string, ProviderClient>();

  constructor(options: OpenAIOptions, url: URL, timeoutMs: number) {
    this.#options = options;
    this.#url = url;
    this.#timeoutMs = timeoutMs;
    this.#isOpenAI = url.hostname === 'openai.com' || url.hostname.endsWith('.openai.com');
    this.#api = options.api ?? (this.#isOpenAI ? 'responses' : 'chat');
    this.#tooLong = checkTooLong('openai: "tooLong"', options.tooLong ?? []);
    this.capabilities = openaiCapabilities(this.#isOpenAI, options.capabilities);
    this.batches = new OpenAIBatches({
      api: this.#api,
      host: url.host,
      byTags: typeof options.apiKey === 'function',
      connect: async (model, context) => {
        const key = await keyFor(options.apiKey, model, context);
        return { client: this.#connect(model, key), account: this.#account(key), key };
      },
      body: (request, account) =>
        this.#learned.bodyOf({
          request,
          capabilities: this.capabilities,
          account,
          build: this.#api === 'chat' ? chatRequest : responsesRequest,
        }),
      classify: (error, model, key) => this.#classified(error, model, key),
      learn: (error, model) => {
        const classify = (one: unknown): ModelCallError => this.#classified(one, model, undefined);
        return this.#learned.learn(error, { model, capabilities: this.capabilities, classify });
      },
    });
  }

  async call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse> {
    context.signal.throwIfAborted();
    requireRealModelsAllowed(request.model, this.#url.host);
    const unknown = this.unknownHostedTool(request);
    if (unknown !== undefined) {
      const of = this.#api === 'chat' ? 'Chat Completions' : 'Responses';
      const message = `openai() does not know the hosted tool "${unknown}" of model "${request.model}" with the API of ${of}`;
      throw new ModelCallError('model_bad_request', message);
    }
    let key: string | undefined;
    try {
      key = await keyFor(this.#options.apiKey, request.model, context);
      this.#accounts.set(context, key);
      const client = this.#connect(request.model, key);
      return await this.#adapted(client, request, context, key);
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      throw this.#classified(error, request.model, key);
    }
  }

  rateLimitKey({ model }: ModelRequest, context: Pick<ModelCallContext, 'tags'>): string {
    return `${this.#url.href} ${this.#accounts.get(context)} ${model}`;
  }

  unknownHostedTool({ hosted }: ModelRequest): string | undefined {
    return unknownTool(hosted, this.#api);
  }

  describe(request: ModelRequest, { cache }: Pick<ModelCallContext, 'cache'>): DescribedRequest {
    const accounts = [...new Set(request.conversation.flatMap(({ account }) => account ?? []))];
    const isChat = this.#api === 'chat';
    const build = isChat ? chatRequest : responsesRequest;
    const body = this.#learned.bodyOf({
      request,
      capabilities: this.capabilities,
      // The account of the newest answer most likely also makes the call.
      account: accounts.at(-1) ?? '',
      build: (one, capabilities) => build(one, capabilities, cache),
    });
    // The wire format, without undefined members.
    const sent = JSON.parse(JSON.stringify(body)) as JsonObject;
    return { api: isChat ? 'openai.chat' : 'openai.responses', path: isChat ? '/chat/completions' : '/responses', body: sent, accounts };
  }

  credentials(): Credential[] {
    const { apiKey } = this.#options;
    if (isSecretReference(apiKey)) return [{ kind: 'secret', name: apiKey.name }];
    // A function chooses among keys that only it knows, and other servers may need no key.
    return apiKey === undefined && this.#isOpenAI ? [{ kind: 'variable', name: 'OPENAI_API_KEY' }] : [];
  }

  async #adapted(
    client: ProviderClient,
    request: ModelRequest,
    context: ModelCallContext,
    key: string | undefined,
  ): Promise<ModelResponse> {
    let isAnswering = false;
    const onDelta = (delta: ModelDelta): void => {
      isAnswering = true;
      context.onDelta?.(delta);
    };
    const listening = { ...context, onDelta };
    const account = this.#account(key);
    const build = this.#api === 'chat' ? chatRequest : responsesRequest;
    const answer = await this.#learned.call({
      request,
      capabilities: this.capabilities,
      account,
      build: (one, capabilities) => build(one, capabilities, context.cache),
      send: (body) => (this.#api === 'chat' ? this.#callChat(client, body, listening) : this.#callResponses(client, body, listening)),
      isAnswering: () => isAnswering || context.signal.aborted,
      classify: (error) => this.#classified(error, request.model, key),
    });
    return ofAccount(answer, account);
  }

  #classified(error: unknown, model: string, key: string | undefined): ModelCallError {
    return classifyError(error, { model, host: this.#url.host, secrets: this.#secrets(key), tooLong: this.#tooLong });
  }

  #account(key: string | undefined): string {
    return accountFingerprint([this.#url.host, this.#options.organization ?? '', ...this.#secrets(key)]);
  }

  async #callChat(client: ProviderClient, body: Record<string, unknown>, context: ModelCallContext): Promise<ModelResponse> {
    const answer = new ChatAnswer(context);
    try {
      for await (const piece of exchange(client, this.#exchange('/chat/completions', body, answer, context))) answer.take(piece);
    } catch (error) {
      // A finished answer is complete and paid for, even if the connection breaks before the usage arrives.
      const isFault = error instanceof ReportedFault || (error instanceof AnswerFault && error.kind !== 'silent');
      if (isFault || !answer.finished) throw error;
    }
    return answer.response();
  }

  async #callResponses(client: ProviderClient, body: Record<string, unknown>, context: ModelCallContext): Promise<ModelResponse> {
    const answer = new ResponsesAnswer(context);
    for await (const piece of exchange(client, this.#exchange('/responses', body, answer, context))) answer.take(piece);
    return answer.response();
  }

  #exchange(
    path: string,
    body: Record<string, unknown>,
    answer: { complete: boolean; silenceMs?: number | undefined },
    { signal, onRateLimits }: ModelCallContext,
  ): Exchange {
    const onHeaders = (headers: Headers): void => reportRateLimits(headers, onRateLimits);
    return {
      path,
      body,
      signal,
      timeoutMs: this.#timeoutMs,
      isComplete: () => answer.complete,
      silenceMs: () => answer.silenceMs,
      onHeaders,
    };
  }

  #connect(model: string, key: string | undefined): ProviderClient {
    const { organization, headers } = this.#options;
    const apiKey = key ?? (this.#isOpenAI ? undefined : 'no-key-needed');
    if (apiKey === undefined) {
      throw new ModelCallError(
        'model_unauthorized',
        `No API key for model "${model}": set OPENAI_API_KEY where the worker runs, or give openai() an "apiKey"`,
      );
    }
    const client = this.#clients.get(apiKey) ?? new ProviderClient({ apiKey, baseURL: this.#url.href, organization, headers });
    this.#clients.delete(apiKey);
    this.#clients.set(apiKey, client);
    const [oldest] = this.#clients.keys();
    if (oldest !== undefined && this.#clients.size > MAX_CLIENTS) this.#clients.delete(oldest);
    return client;
  }

  #secrets(key: string | undefined): string[] {
    const headers = Object.entries(this.#options.headers ?? {}).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
    return [key ?? '', ...headers.map(([, value]) => value)];
  }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`openai: "baseURL" is not an http or https URL: "${text}"`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('openai: "baseURL" holds a user or a password, which fetch refuses: put credentials into "apiKey" or "headers"');
  }
  return url;
}

/** Options of the library for a provider. */
interface ProviderAccess {
  apiKey: string;
  baseURL: string;
  organization?: string | undefined;
  headers?: Record<string, string> | undefined;
}

/** The client library, only used to send requests: Temporal retries, and errors keep their whole body. */
class ProviderClient extends OpenAI {
  constructor({ apiKey, baseURL, organization, headers }: ProviderAccess) {
    super({
      apiKey,
      baseURL,
      maxRetries: 0,
      ...defined({ organization, defaultHeaders: headers }),
    });
  }

  /** Keeps the whole body of an error. The library keeps only its `error` field, which compatible servers may not send. */
  protected override makeStatusError(status: number, body: object | undefined, text: string | undefined, headers: Headers): APIError {
    // The library converts the body to JSON. That must not fail: without its status the error could not be classified.
    return new APIError(status, shallowBody(body) ?? { message: text }, undefined, headers);
  }
}

/**
 * Returns the body of a Responses request. The provider stores nothing: the history of the run is the only state, so
 * that retries and forks see the same conversation. Its keys have a fixed order: equal requests are equal bytes.
 */
function responsesRequest(request: ModelRequest, capabilities: OpenAICapabilities, cache?: PromptCache): Record<string, unknown> {
  const { model, instructions, conversation, tools, hosted = [], output, settings } = request;
  const { temperature, maxOutputTokens, reasoningEffort, extra } = settings;
  const body = {
    model,
    input: buildResponsesInput(instructions, conversation, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length + hosted.length > 0 ? responsesToolFields(tools, hosted, settings) : {}),
    ...(output === undefined ? {} : { text: { format: answerFormat(output) } }),
    ...defined({ temperature, max_output_tokens: maxOutputTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    store: false,
    ...(givesEncryptedReasoning(model) ? { include: ['reasoning.encrypted_content'] } : {}),
    ...defined({ prompt_cache_key: cache?.key }),
    stream: true,
  };
  return { ...adaptedBody('responses', body, capabilities), ...extra };
}

/** Returns a body adapted to the server, with its cache marks, if any. */
function adaptedBody(api: Api, body: Record<string, unknown>, capabilities: OpenAICapabilities): Record<string, unknown> {
  const adapted = withinRules(api, body, capabilities);
  return capabilities.cacheBreakpoints ? withBreakpoints(api, adapted) : adapted;
}

function responsesToolFields(tools: ToolDescription[], hosted: HostedTool[], settings: RequestSettings): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: [
      ...tools.map(({ name, description, parameters, strict }) => ({ type: 'function', name, description, parameters, strict })),
      ...hosted.map(responsesTool),
    ],
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.tool } }),
    ...defined({ parallel_tool_calls: parallelToolCalls }),
  };
}

function answerFormat({ name, schema, strict }: NonNullable<ModelRequest['output']>): Record<string, unknown> {
  return { type: 'json_schema', name, schema, strict };
}

/** Returns the body of a Chat Completions request. Its keys have a fixed order: equal requests are equal bytes. */
function chatRequest(request: ModelRequest, capabilities: OpenAICapabilities, cache?: PromptCache): Record<string, unknown> {
  const { model, instructions, conversation, tools, output, settings } = request;
  const body = {
    model,
    messages: conversationMessages(instructions, conversation, capabilities.developerRole ? 'developer' : 'system'),
    ...(tools.length > 0 ? chatToolFields(tools, settings) : {}),
    ...(output === undefined ? {} : { response_format: { type: 'json_schema', json_schema: schemaOf(output) } }),
    ...samplingFields(settings),
    ...defined({ prompt_cache_key: cache?.key }),
    stream: true,
    stream_options: { include_usage: true },
  };
  return { ...adaptedBody('chat', body, capabilities), ...settings.extra };
}

function chatToolFields(tools: ToolDescription[], settings: RequestSettings): Record<string, unknown> {
  const { toolChoice, parallelToolCalls } = settings;
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, strict },
    })),
    ...(toolChoice === undefined
      ? {}
      : { tool_choice: typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.tool } } }),
    ...defined({ parallel_tool_calls: parallelToolCalls }),
  };
}

function schemaOf({ name, schema, strict }: NonNullable<ModelRequest['output']>): Record<string, unknown> {
  return { name, schema, strict };
}

function samplingFields({ temperature, maxOutputTokens, reasoningEffort }: RequestSettings): Record<string, unknown> {
  return defined({ temperature, max_completion_tokens: maxOutputTokens, reasoning_effort: reasoningEffort });
}

/** An item of the Responses API: an object that the API documents by its `type`. */
type ResponsesItem = Record<string, unknown>;

/**
 * Returns the input of a Responses request. The provider keeps nothing between two calls, so the encrypted reasoning of an earlier answer
 * is sent back before the items that followed it.
 */
function buildResponsesInput(
  instructions: readonly string[],
  conversation: readonly ConversationEvent[],
  systemRole: 'system' | 'developer' = 'system',
): ResponsesItem[] {
  const input: ResponsesItem[] = instructions.map((text) => ({ type: 'message', role: systemRole, content: text.toWellFormed() }));
  let beside: ContentPart[] = [];
  const sendBeside = (): void => {
    if (beside.length > 0) input.push({ type: 'message', role: 'user', content: beside.map(responsesPart) });
    beside = [];
  };
  for (const event of conversation) {
    const parts = placedParts(event);
    if (parts !== undefined) {
      sendBeside();
      input.push(...placedItems(event.content, parts).map((item) => ('type' in item ? responsesItem(item, systemRole) : item.item)));
      continue;
    }
    for (const item of event.content) {
      if (item.type === 'tool_result') beside.push(...partsBeside(item));
      else sendBeside();
      input.push(responsesItem(item, systemRole));
    }
  }
  sendBeside();
  return input;
}

type PlacedItem = ContentItem | { item: ResponsesItem };

/** Returns the content of an answer with its opaque items at their original positions. The API refuses reasoning that no item follows. */
function placedItems(content: readonly ContentItem[], { order }: PlacedParts): PlacedItem[] {
  const calls = content.filter(({ type }) => type === 'tool_call');
  const placed = order.flatMap((entry): PlacedItem[] => {
    if (entry === 'text') return content.filter(({ type }) => type === 'message');
    if ('item' in entry) return [entry];
    const call = calls[entry.call];
    return call === undefined ? [] : [call];
  });
  return placed.slice(0, placed.findLastIndex((one) => 'type' in one) + 1);
}

function responsesItem(item: ContentItem, systemRole: 'system' | 'developer'): ResponsesItem {
  switch (item.type) {
    case 'message':
      return responsesMessage(item, systemRole);
    case 'tool_call':
      return { type: 'function_call', call_id: item.toolCallId, name: functionName(item.name), arguments: argumentsText(item) };
    case 'tool_result':
      return { type: 'function_call_output', call_id: item.toolCallId, output: toolOutputText(item) };
  }
}

function responsesMessage({ role, content }: Message, systemRole: 'system' | 'developer'): ResponsesItem {
  const parts = role === 'user' && typeof content !== 'string' && content.length > 0;
  return {
    type: 'message',
    role: role === 'system' ? systemRole : role,
    content: parts ? content.map(responsesPart) : plainText(content),
  };
}

function responsesPart(part: ContentPart): ResponsesItem {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text.toWellFormed() };
    case 'image': {
      const url = part.url ?? dataUrl('image', part);
      return url === undefined ? textPart(part) : { type: 'input_image', image_url: url, detail: 'auto' };
    }
    case 'audio':
      return part.data === undefined
        ? textPart(part)
        : { type: 'input_audio', input_audio: { data: part.data, format: audioFormat(part) } };
    case 'file': {
      if (part.url !== undefined) return { type: 'input_file', file_url: part.url };
      const data = dataUrl('file', part);
      return data === undefined ? textPart(part) : { type: 'input_file', filename: part.name ?? 'file', file_data: data };
    }
    case 'video':
      return textPart(part);
  }
}

function textPart(part: ContentPart): ResponsesItem {
  return { type: 'input_text', text: placeholder(part) };
}

/** The facts for choosing a key. */
export interface KeyContext {
  /** The tags that the run was started with. */
  readonly tags: readonly string[];
  /** The provider's name for the model. */
  readonly model: string;
}

/** A key: its text, or the name of a secret of the worker, made by `secret()`. Undefined: `OPENAI_API_KEY` of the environment. */
export type GivenKey = string | SecretReference | undefined;

/** A key, or a function that chooses one for each call. It is called in the worker, and its result is not recorded. */
export type ApiKey = GivenKey | ((context: KeyContext) => GivenKey | Promise<GivenKey>);

/** The maximum number of tag combinations whose account is remembered. */
const MOST_ACCOUNTS = 1_000;

/** The accounts that calls were made for, by the tags that choose the key, without the keys themselves. */
class Accounts {
  readonly #known = new Map<string, string>();

  /** Returns a text that identifies the account: the tags themselves before the first call with them. */
  get({ tags = [] }: Pick<ModelCallContext, 'tags'>): string {
    return this.#known.get(tags.join('\n')) ?? tags.join('\n');
  }

  set({ tags = [] }: Pick<ModelCallContext, 'tags'>, key = ''): void {
    const chosenBy = tags.join('\n');
    this.#known.delete(chosenBy);
    this.#known.set(chosenBy, createHash('sha256').update(key).digest('hex').slice(0, 16));
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > MOST_ACCOUNTS) this.#known.delete(oldest);
  }
}

/** Returns the key for one call, or undefined. Rejects with a ModelCallError if the key cannot be read. */
async function keyFor(
  apiKey: ApiKey,
  model: string,
  { tags = [], secret }: Pick<ModelCallContext, 'tags' | 'secret'>,
): Promise<string | undefined> {
  const chosen = typeof apiKey === 'function' ? await chooseKey(apiKey, { tags, model }) : apiKey;
  // A shell unsets a variable by setting it to an empty text.
  if (!isSecretReference(chosen)) return chosen || process.env['OPENAI_API_KEY'] || undefined;
  if (secret !== undefined) return readSecret(secret, chosen);
  throw new ModelCallError(
    'secret_missing',
    `The API key for model "${model}" is the secret "${chosen.name}", and only a worker has secrets`,
  );
}

async function chooseKey(apiKey: Extract<ApiKey, (context: KeyContext) => unknown>, context: KeyContext): Promise<GivenKey> {
  let chosen: unknown;
  try {
    chosen = await apiKey(context);
  } catch (error) {
    throw new ModelCallError('model_error', `"apiKey" of openai() threw for model "${context.model}": ${errorMessage(error)}`);
  }
  if (chosen === undefined || typeof chosen === 'string' || isSecretReference(chosen)) return chosen;
  throw new ModelCallError('model_error', `"apiKey" of openai() returned neither a string nor a secret() for model "${context.model}"`);
}

/** Reads a secret. The run reports the vault's message for an unreadable secret, which never contains the value. */
async function readSecret(secret: NonNullable<ModelCallContext['secret']>, reference: SecretReference): Promise<string> {
  try {
    return await secret(reference);
  } catch (error) {
    throw new ModelCallError(errorCode(error) ?? 'secret_unavailable', errorMessage(error));
  }
}
