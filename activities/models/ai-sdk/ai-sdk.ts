import { defined, isJsonObject, type JsonObject, parsedJson } from '../../../src/core/domain/json.ts';
import { memberOf, ModelCallError, thrownText, UsageError } from '../../../src/core/domain/errors.ts';
import type {
  DescribedRequest,
  ModelCallContext,
  ModelCapabilities,
  ModelClient,
  ModelRequest,
  ModelResponse,
  PromptCache,
} from '../../../src/core/domain/model.ts';
import { type Duration, timerMilliseconds } from '../../../src/core/domain/time.ts';
import { type OptionTable, requireKnown, wholeNumber } from '../../../src/define/option-checks.ts';
import { requireRealModelsAllowed } from '../../../src/model/forbid-models.ts';
import { AnswerFault } from '../errors/error-body.ts';
import { reportRateLimits } from '../rate-limits.ts';
import { type CreateAiSdkModel, CreatedModels, packageFailure } from './created-models.ts';
import { foreignTool, requireHosted } from './hosted-tools.ts';
import type { AiSdkModel, ProviderMetadata } from './language-model.ts';
import { filesIn } from './layout.ts';
import { buildCall, type BuiltRequest, type CacheMarks } from './prompt.ts';
import { reportsFinishWord, StreamAnswer } from './stream-answer.ts';

/** The parts of a request that a provider is asked to cache, and for how long. */
export type CacheOption = 'auto' | 'off' | { ttl: '5m' | '1h' };

/** Options of `aiSdk`. Every field is optional. */
export interface AiSdkOptions {
  /**
   * True if the models enforce a JSON Schema for an answer. Default false: a structured answer comes through a tool `final_answer`, which
   * every model with tools can call.
   */
  structuredOutput?: boolean;
  /**
   * The maximum input tokens of the models: for all of them, or by the provider's model name. All workers must use the same. Default: known
   * from the model name, or assumed.
   */
  contextTokens?: number | ((id: string) => number | undefined);
  /**
   * The parts that providers that cache on request (Anthropic, also on Vertex, Claude and Nova on Bedrock) are asked to cache. `auto`
   * (default): the instructions and the conversation so far, for 5 minutes. In a session that was idle for longer, the request before its
   * last answer is cached for an hour. `{ ttl: '5m' }` and `{ ttl: '1h' }`: everything for that time, an hour at a higher price; `off`:
   * nothing.
   */
  cache?: CacheOption;
  /** The longest time without data, after which a call is aborted and retried. Default 5 minutes. */
  idleTimeout?: Duration;
  /**
   * False: requests are not described for readers of a run. A description runs `create` and the package in the reader's process: set it to
   * false if your `fetch` ignores the signal, or must not get a token there. Default true.
   */
  describe?: boolean;
}

const OPTIONS: OptionTable<AiSdkOptions> = { structuredOutput: true, contextTokens: true, cache: true, idleTimeout: true, describe: true };

/**
 * Creates a model client from an AI SDK provider package, such as `@ai-sdk/anthropic`, with models of specification v3 or v4. `create` is
 * called once for each model, and again if the value of a secret that it reads has changed. Throws a `UsageError` for invalid options.
 *
 * @example aiSdk(async (id, { secret }) => createAnthropic({ apiKey: await secret('anthropic') })(id), { structuredOutput: true })
 */
export function aiSdk(create: CreateAiSdkModel, options: AiSdkOptions = {}): ModelClient {
  if (typeof create !== 'function') {
    throw new UsageError('aiSdk: the first argument is not a function: write aiSdk((id) => anthropic(id)) with a provider of the AI SDK');
  }
  const version = memberOf(create, 'specificationVersion');
  if (version !== undefined && version !== 'v3' && version !== 'v4') {
    throw new UsageError(
      `aiSdk: the provider has the specification "${thrownText(version)}" of the AI SDK: "v3" and "v4" are supported, so install a newer version of its package`,
    );
  }
  requireKnown('aiSdk', options, OPTIONS);
  const { structuredOutput = false, contextTokens, cache = 'auto', idleTimeout = '5m', describe = true } = options;
  if (typeof structuredOutput !== 'boolean') {
    throw new UsageError(`aiSdk: "structuredOutput" is ${JSON.stringify(structuredOutput)}: write true or false`);
  }
  if (typeof describe !== 'boolean') throw new UsageError(`aiSdk: "describe" is ${JSON.stringify(describe)}: write true or false`);
  const capabilities = { structuredOutput, ...defined({ contextTokens: checkedContext(contextTokens) }) };
  const idleMs = timerMilliseconds(idleTimeout, 'aiSdk: "idleTimeout"');
  return new AiSdkClient(create, capabilities, { cache: checkedCache(cache), idleMs, describe });
}

function checkedContext(given: AiSdkOptions['contextTokens']): ModelCapabilities['contextTokens'] {
  if (given === undefined) return undefined;
  if (typeof given !== 'function') return wholeNumber('aiSdk: "contextTokens"', given, 1);
  return (id) => {
    const tokens = given(id);
    return tokens === undefined ? undefined : wholeNumber(`aiSdk: "contextTokens" of model "${id}"`, tokens, 1);
  };
}

/** Returns a valid option. Throws a `UsageError` for an invalid one. */
function checkedCache(cache: CacheOption): CacheOption {
  const ttl = typeof cache === 'object' && cache !== null && Object.keys(cache).join() === 'ttl' ? cache.ttl : undefined;
  if (cache === 'auto' || cache === 'off' || ttl === '5m' || ttl === '1h') return cache;
  throw new UsageError(`aiSdk: "cache" is ${JSON.stringify(cache)}: write "auto", "off", { ttl: "5m" } or { ttl: "1h" }`);
}

/**
 * Returns the options of messages that end a cached part; undefined for a provider that caches automatically, or not at all. Anthropic
 * accepts four marks: three are set, and one is left to the user. Marks for an hour must come before shorter ones.
 */
function cacheMarks(
  cache: CacheOption,
  { provider, modelId }: { provider: string; modelId: string },
  { hasRested }: Partial<PromptCache> = {},
): CacheMarks | undefined {
  if (cache === 'off') return undefined;
  const mark = (ttl: { ttl?: string }): ProviderMetadata | undefined => {
    if (provider.startsWith('amazon-bedrock')) {
      return /anthropic|claude|nova/.test(modelId) ? { bedrock: { cachePoint: { type: 'default', ...ttl } } } : undefined;
    }
    return provider.includes('anthropic') ? { anthropic: { cacheControl: { type: 'ephemeral', ...ttl } } } : undefined;
  };
  const moving = mark(typeof cache === 'object' ? { ttl: cache.ttl } : {});
  // Bedrock refuses an hour for Nova and older Claude models, so it is only used there if the user asks for it.
  const isLonger = hasRested && cache === 'auto' && (!provider.startsWith('amazon-bedrock') || KEEPS_AN_HOUR.test(modelId));
  const stable = isLonger ? mark({ ttl: '1h' }) : moving;
  return moving === undefined || stable === undefined ? undefined : { stable, moving };
}

/** The models that Bedrock can cache for an hour. */
const KEEPS_AN_HOUR = /claude-(?:opus|sonnet|haiku)-(?:4-[5-9]|[5-9])/;

/** The maximum number of files that a model gets back: the newest ones. */
const MOST_FILES = 5;

/** Returns the data of a model's files, for a provider that accepts them in its earlier answers: Gemini edits its images. */
async function madeFiles(
  { conversation }: ModelRequest,
  { readFile }: Pick<ModelCallContext, 'readFile'>,
  { provider }: Pick<AiSdkModel, 'provider'>,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (readFile === undefined || !provider.startsWith('google')) return undefined;
  const places = conversation.flatMap(({ content }) => filesIn(content).flatMap(({ spilled }) => spilled ?? [])).slice(-MOST_FILES);
  const read = places.map(async (place) => [place.sha256, await readFile(place)] as const);
  return new Map((await Promise.all(read)).flatMap(([digest, data]) => (data === undefined ? [] : [[digest, data]])));
}

/** The time limit for a package to build a described request, in milliseconds. */
const DESCRIBED_WITHIN_MS = 5_000;

/** Replaces every secret in a described request: its body has none, and its headers are not shown. */
const unreadSecret = async (): Promise<string> => 'not-read';

class AiSdkClient implements ModelClient {
  readonly capabilities: ModelCapabilities;
  readonly #models: CreatedModels;
  /** The same models without secrets. */
  readonly #described: CreatedModels;
  readonly #cache: CacheOption;
  readonly #idleMs: number;
  readonly #describe: boolean;

  constructor(
    create: CreateAiSdkModel,
    capabilities: ModelCapabilities,
    { cache, idleMs, describe }: { cache: CacheOption; idleMs: number; describe: boolean },
  ) {
    this.#models = new CreatedModels(create);
    this.#described = new CreatedModels(create);
    this.capabilities = capabilities;
    this.#cache = cache;
    this.#idleMs = idleMs;
    this.#describe = describe;
  }

  async call(request: ModelRequest, context: ModelCallContext): Promise<ModelResponse> {
    context.signal.throwIfAborted();
    const wait = new Wait(context.signal, this.#idleMs);
    const failed = { model: request.model, host: 'its provider', secrets: [] as readonly string[] };
    try {
      const { model, secrets } = await wait.for(this.#models.get(request.model, context));
      failed.host = model.provider;
      failed.secrets = secrets;
      requireRealModelsAllowed(request.model, model.provider);
      return await this.#ask(model, request, context, wait);
    } catch (error) {
      wait.abort();
      if (context.signal.aborted) throw context.signal.reason;
      throw packageFailure(error, failed);
    } finally {
      wait.end();
    }
  }

  /** Sends one request, and reads its answer. */
  async #ask(model: AiSdkModel, request: ModelRequest, context: ModelCallContext, wait: Wait): Promise<ModelResponse> {
    const { provider } = model;
    const foreign = foreignTool(request.hosted, model);
    if (foreign !== undefined) {
      throw new ModelCallError(
        'model_bad_request',
        `Provider "${provider}" of model "${request.model}" does not know the hosted tool "${foreign}"`,
      );
    }
    const { options, warnings } = await this.#build(model, request, context, wait);
    const answer = new StreamAnswer(context, { needsWord: reportsFinishWord(model) });
    const { stream, response: begun } = await wait.for(model.doStream({ ...options, abortSignal: wait.signal }));
    reportRateLimits(begun?.headers, context.onRateLimits);
    const reader = stream.getReader();
    while (!answer.isComplete) {
      const { done, value } = await wait.for(reader.read());
      if (done) break;
      if (value.type === 'stream-start') requireHosted(request.hosted, value.warnings, request.model, model);
      answer.take(value);
    }
    // The answer is complete, even if the rest of the stream fails.
    const discard = async (): Promise<void> => reader.cancel();
    discard().catch(() => undefined);
    const response = answer.response();
    const all = [...warnings, ...(response.warnings ?? [])];
    return all.length === 0 ? response : { ...response, warnings: all };
  }

  async #build(
    model: AiSdkModel,
    request: ModelRequest,
    context: Pick<ModelCallContext, 'cache' | 'readFile'>,
    wait: Wait,
  ): Promise<BuiltRequest> {
    const { specificationVersion, provider, modelId } = model;
    return buildCall(request, {
      isV4: specificationVersion === 'v4',
      provider,
      modelId,
      urls: await wait.for(model.supportedUrls),
      cacheMarks: cacheMarks(this.#cache, model, context.cache),
      cacheKey: this.#cache === 'off' ? undefined : context.cache?.key,
      files: await wait.for(madeFiles(request, context, model)),
    });
  }

  /**
   * Lets the package build the request without sending it. `create` is called without secrets. Requests that the package or the user's
   * `fetch` makes without the call's signal are sent as for a call, such as a request for a Vertex AI token.
   */
  async describe(request: ModelRequest, { cache, tags }: Pick<ModelCallContext, 'cache' | 'tags'>): Promise<DescribedRequest> {
    if (!this.#describe) throw new Error('the option "describe" of its aiSdk() is false');
    const wait = new Wait(new AbortController().signal, DESCRIBED_WITHIN_MS);
    try {
      const { model } = await wait.for(this.#described.get(request.model, { ...defined({ tags }), secret: unreadSecret }));
      if (model.provider.startsWith('google') && request.conversation.some(({ content }) => filesIn(content).length > 0))
        throw new Error('the data of the files that the model has made are not in the record');
      const { options } = await this.#build(model, request, defined({ cache }), wait);
      const { path, body } = await wait.for(unsentRequest((abortSignal) => model.doStream({ ...options, abortSignal })));
      return { api: `ai-sdk.${model.provider}`, path, body, accounts: [] };
    } finally {
      wait.end();
    }
  }

  async unknownHostedTool(request: ModelRequest, context: Pick<ModelCallContext, 'tags' | 'secret'>): Promise<string | undefined> {
    const { model } = await this.#models.get(request.model, context);
    return foreignTool(request.hosted, model);
  }

  rateLimitKey({ model }: ModelRequest, { tags }: Pick<ModelCallContext, 'tags'>): string {
    return JSON.stringify([model, ...this.#models.tagsOf(model, tags)]);
  }
}

/** Waits for a package until the call is aborted or nothing has arrived for too long, even if the package ignores the signal. */
class Wait {
  /** Aborts the request. */
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #stopped = Promise.withResolvers<never>();
  readonly #timer: NodeJS.Timeout;

  constructor(signal: AbortSignal, idleMs: number) {
    this.signal = AbortSignal.any([signal, this.#stop.signal]);
    this.#stopped.promise.catch(() => undefined);
    this.signal.addEventListener('abort', () => this.#stopped.reject(this.signal.reason), { once: true });
    const silent = new AnswerFault('silent', `nothing has arrived for ${idleMs / 1_000} seconds`);
    this.#timer = setTimeout(() => this.#stop.abort(silent), idleMs);
  }

  async for<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    this.#timer.refresh();
    const working = Promise.resolve(work);
    // It may fail after it was abandoned.
    working.catch(() => undefined);
    return Promise.race([working, this.#stopped.promise]);
  }

  /** Aborts the request, whose answer is useless. */
  abort(): void {
    this.#stop.abort();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** A request that a package was about to send. */
interface UnsentRequest {
  /** The path of its URL. */
  path: string;
  body: JsonObject;
}

/** The reason of a described request's signal, which identifies the request, and the error in place of its answer. */
class NotSent extends Error {
  request?: UnsentRequest;

  constructor() {
    super('The request is described, and not sent');
  }
}

/**
 * Returns the request that `send` would make with its signal, without sending it. A package uses the `fetch` of the process, unless the
 * user gives it another one, which gets an aborted signal, so that it sends nothing. Requests without the signal are sent, such as a user's
 * `fetch` for a token. Throws if no request was seen.
 */
export async function unsentRequest(send: (signal: AbortSignal) => PromiseLike<{ stream: ReadableStream }>): Promise<UnsentRequest> {
  const notSent = new NotSent();
  const restore = replaceFetch();
  let failure: unknown;
  try {
    const { stream } = await send(AbortSignal.abort(notSent));
    // It was sent without the signal: nobody reads the answer.
    const discard = async (): Promise<void> => stream.cancel();
    discard().catch(() => undefined);
  } catch (error) {
    failure = error;
  } finally {
    restore();
  }
  if (notSent.request !== undefined) return notSent.request;
  throw failure instanceof Error && !isAbort(failure)
    ? failure
    : new Error('its package does not use the "fetch" of the process with the signal of the call');
}

function isAbort(error: Error): boolean {
  return error instanceof NotSent || error.name === 'AbortError' || error.cause instanceof NotSent;
}

/** A `fetch` that sees described requests and replaces the previous one. */
interface Replacement {
  readonly fetch: typeof fetch;
  readonly before: typeof fetch;
  /** The number of descriptions that need it. */
  open: number;
}

let latest: Replacement | undefined;

/** Replaces `fetch` until the last description has ended. If other code replaces it meanwhile, that replacement stays. */
function replaceFetch(): () => void {
  if (latest === undefined || globalThis.fetch !== latest.fetch) {
    latest = replacementOf(globalThis.fetch);
    globalThis.fetch = latest.fetch;
  }
  const replacement = latest;
  replacement.open += 1;
  return () => {
    replacement.open -= 1;
    if (replacement.open === 0 && globalThis.fetch === replacement.fetch) globalThis.fetch = replacement.before;
  };
}

/** Other code may keep the new `fetch` permanently, so it always delegates to `before`, whatever the process's `fetch` is by then. */
function replacementOf(before: typeof fetch): Replacement {
  const seeing: typeof fetch = async (input, init) => {
    const asked = input instanceof Request ? input : undefined;
    const reason: unknown = (init?.signal ?? asked?.signal)?.reason;
    if (!(reason instanceof NotSent)) return before(input, init);
    const body = init?.body ?? (await asked?.text());
    const content = typeof body === 'string' ? parsedJson(body) : undefined;
    const url = input instanceof Request ? input.url : String(input);
    if (isJsonObject(content) && hasConversation(content) && URL.canParse(url)) {
      reason.request = { path: new URL(url).pathname, body: content };
    }
    throw reason;
  };
  return { fetch: seeing, before, open: 0 };
}

/** False for a token request to which a user's `fetch` passed the signal: it has secrets, and no list of messages. */
function hasConversation(body: JsonObject): boolean {
  return Object.values(body).some((value) => Array.isArray(value) && value.some(isJsonObject));
}
