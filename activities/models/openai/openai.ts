import { requireKnown } from '../../../src/define/options/option-checks.ts';
import { type Duration, timerMilliseconds } from '../../../src/core/domain/run/duration.ts';
import { ModelCallError, UsageError } from '../../../src/core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model/model.ts';
import { requireRealModelsAllowed } from '../../../src/model/real-models.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';
import { LearnedRules } from './adapted-call.ts';
import { Accounts, type ApiKey, keyFor } from './api-key.ts';
import { type OpenAICapabilities, openaiCapabilities } from './capabilities.ts';
import { ChatAnswer } from './chat-answer.ts';
import { chatRequest } from './chat-request.ts';
import { classifyError } from '../errors/classify-error.ts';
import { checkTooLong, type TooLongRule } from '../errors/too-long.ts';
import { AnswerFault, ReportedFault } from '../errors/answer-fault.ts';
import { type Exchange, exchange } from './exchange.ts';
import { ProviderClient } from './provider-client.ts';
import { accountFingerprint } from './opaque-parts.ts';
import { ResponsesAnswer } from './responses-answer.ts';
import { responsesRequest } from './responses-request.ts';

/** Options for a provider with OpenAI's API. Every field is optional. */
export interface OpenAIOptions {
  /**
   * The API key: a text, a secret of the worker such as `secret('openai')`, or a function that chooses one for each
   * call, for instance by the tags of the run. Default: `OPENAI_API_KEY` of the environment, read when a call is made.
   * Servers other than OpenAI's may need none.
   *
   * `({ tags }) => secret(tags.includes('acme') ? 'openai/acme' : 'openai/default')`
   */
  apiKey?: ApiKey;
  /** The URL of the API. Default: `OPENAI_BASE_URL` of the environment, otherwise OpenAI. */
  baseURL?: string;
  /** The API to use. Default: `responses` with OpenAI, `chat` (Chat Completions) with every other server. */
  api?: 'chat' | 'responses';
  organization?: string;
  /** The longest time without data, after which a call is aborted and retried. Default 5 minutes. */
  timeout?: Duration;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /**
   * What the server takes, if it differs from OpenAI's. It is where a client begins: a refusal that names something else is learned for
   * the rest of the process.
   */
  capabilities?: Partial<OpenAICapabilities>;
  /**
   * How the server says that a conversation is too long, if it does so in its own words: `[{ status: 400, text: 'input too big' }]`.
   * The conversation is then compacted, and the model asked again. The words of about thirty servers are known.
   */
  tooLong?: readonly TooLongRule[];
}

const OPENAI_URL = 'https://api.openai.com/v1';
/** The most keys whose clients are cached: for instance one for each tenant. */
const MAX_CLIENTS = 100;
const OPTIONS = ['apiKey', 'baseURL', 'api', 'organization', 'timeout', 'headers', 'capabilities', 'tooLong'];

/**
 * Creates a model client for OpenAI and for every server with its API (vLLM, Ollama, llama.cpp, gateways). Reads and
 * opens nothing before the first call. Throws a `UsageError` for invalid options.
 */
export function openai(options: OpenAIOptions = {}): ModelClient {
  requireKnown('openai', options, OPTIONS);
  const url = parseUrl(options.baseURL || process.env['OPENAI_BASE_URL'] || OPENAI_URL);
  return new OpenAIModelClient(options, url, timerMilliseconds(options.timeout ?? '5m', 'openai: "timeout"'));
}

class OpenAIModelClient implements ModelClient {
  readonly capabilities: OpenAICapabilities;
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
  }

  async call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse> {
    context.signal.throwIfAborted();
    requireRealModelsAllowed(request.model, this.#url.host);
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
    const answer = await this.#learned.call({
      request,
      capabilities: this.capabilities,
      account,
      build: this.#api === 'chat' ? chatRequest : responsesRequest,
      send: (body) => (this.#api === 'chat' ? this.#callChat(client, body, listening) : this.#callResponses(client, body, listening)),
      isAnswering: () => isAnswering || context.signal.aborted,
      classify: (error) => this.#classified(error, request.model, key),
    });
    return answer.providerItems === undefined ? answer : { ...answer, account };
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
      // A finished answer is complete and paid for, even if the connection broke before the usage arrived.
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
    { signal }: ModelCallContext,
  ): Exchange {
    return { path, body, signal, timeoutMs: this.#timeoutMs, isComplete: () => answer.complete, silenceMs: () => answer.silenceMs };
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
