import type { SecretReference } from '../../../src/core/domain/deps.ts';
import { memberOf, ModelCallError, thrownText, UsageError } from '../../../src/core/domain/errors.ts';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import type { BatchClient, BatchContext, BatchResult, BatchStatus, ModelResponse, NewBatch } from '../../../src/core/domain/model.ts';
import { type OptionTable, requireKnown } from '../../../src/define/option-checks.ts';
import { requireRealModelsAllowed } from '../../../src/model/forbid-models.ts';
import { ReportedFault } from '../errors/error-body.ts';
import { type CreateModelContext, packageFailure } from './created-models.ts';
import type { StreamPart } from './language-model.ts';
import { buildCall } from './prompt.ts';
import { StreamAnswer } from './stream-answer.ts';

/** The batches of an AI SDK provider package, of specification v4: the result of `experimental_batch()`. */
export interface AiSdkBatch {
  /** The version of the AI SDK's interface. */
  readonly specificationVersion: 'v4';
  /** The name of the provider. */
  readonly provider: string;
  /** URLs that the provider fetches itself. */
  readonly supportedUrls: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  /** Sends a batch and returns its id. */
  doStartBatch(options: {
    requests: readonly { type: string; id: string; modelId: string; options: object }[];
    abortSignal?: AbortSignal;
  }): PromiseLike<{ batchId: string }>;
  /** Returns the status of a batch. */
  doGetBatchStatus(options: BatchOperation): PromiseLike<{ status: string; error?: unknown }>;
  /** Reads the answers of a batch. */
  doGetBatchResults(options: BatchOperation): PromiseLike<ReadableStream<BatchItemResult>>;
  /** Cancels a batch. */
  doCancelBatch?(options: BatchOperation): PromiseLike<unknown>;
}

/** A request about a batch. */
export interface BatchOperation {
  /** The id of the batch at the provider. */
  batchId: string;
  /** Ends the request. */
  abortSignal?: AbortSignal;
}

/** The result of a request. A package may set any member wrongly. */
export interface BatchItemResult {
  /** The id of the request. */
  id?: unknown;
  /** Whether it was answered. */
  status?: unknown;
  /** The answer. Absent if there is none. */
  result?: unknown;
  /** Why there is no answer. */
  error?: unknown;
}

/** Returns the batches of a provider package, for a run's tags and with the worker's secrets: `() => anthropic.experimental_batch()`. */
export type CreateAiSdkBatch = (context: CreateModelContext) => AiSdkBatch | PromiseLike<AiSdkBatch>;

/** Options of `aiSdkBatch` and `anthropicBatch`. */
export interface AiSdkBatchOptions {
  /** True if `create` chooses the key by the tags of the run: calls with other tags then go into other batches. Default false. */
  byTags?: boolean;
}

const OPTIONS: OptionTable<AiSdkBatchOptions> = { byTags: true };

/** All requests of a batch are in memory. */
const MOST_BYTES = 90_000_000;

/**
 * Returns the batch client of an AI SDK provider package with `experimental_batch()`, such as `@ai-sdk/anthropic` 4. Its batches cannot be
 * found by name: if the answer to a submission is lost, the calls are submitted, and paid for, once more; each counts once.
 *
 * @example aiSdkBatch(async ({ secret }) => createAnthropic({ apiKey: await secret('anthropic') }).experimental_batch())
 */
export function aiSdkBatch(create: CreateAiSdkBatch, options: AiSdkBatchOptions = {}): BatchClient {
  return new AiSdkBatches(create, { owner: 'aiSdkBatch', items: 10_000 }, options);
}

/** Returns the batch client of Anthropic, using its provider package: `anthropicBatch(() => anthropic.experimental_batch())`. */
export function anthropicBatch(create: CreateAiSdkBatch, options: AiSdkBatchOptions = {}): BatchClient {
  return new AiSdkBatches(create, { owner: 'anthropicBatch', items: 100_000 }, options);
}

class AiSdkBatches implements BatchClient {
  readonly limits: BatchClient['limits'];
  readonly byTags: boolean;
  readonly #create: CreateAiSdkBatch;
  readonly #owner: string;

  constructor(create: CreateAiSdkBatch, { owner, items }: { owner: string; items: number }, options: AiSdkBatchOptions) {
    if (typeof create !== 'function')
      throw new UsageError(`${owner}: the first argument is not a function: write ${owner}(() => anthropic.experimental_batch())`);
    requireKnown(owner, options, OPTIONS);
    this.#create = create;
    this.#owner = owner;
    this.byTags = options.byTags === true;
    this.limits = { items, bytes: MOST_BYTES };
  }

  submit({ items }: NewBatch, context: BatchContext): Promise<string | undefined> {
    return this.#with(context, async (batch) => {
      requireRealModelsAllowed(context.model, batch.provider);
      const made = await items();
      if (made.length === 0) return undefined;
      const facts = { isV4: true, provider: batch.provider, modelId: context.model, urls: await batch.supportedUrls };
      const requests = made.map(({ id, request }) => ({
        type: 'text' as const,
        id,
        modelId: context.model,
        options: buildCall(request, facts).options,
      }));
      const { batchId } = await batch.doStartBatch({ requests, abortSignal: context.signal });
      return batchId;
    });
  }

  status(batchId: string, context: BatchContext): Promise<BatchStatus> {
    return this.#with(context, async (batch) => {
      const { status, error } = await batch.doGetBatchStatus({ batchId, abortSignal: context.signal });
      if (status !== 'failed') return { hasEnded: status === 'completed' };
      return {
        hasEnded: true,
        error: new ModelCallError('model_bad_request', `The provider has refused batch "${batchId}": ${said(error)}`),
      };
    });
  }

  async *results(batchId: string, context: BatchContext): AsyncGenerator<BatchResult> {
    const stream = await this.#with(context, (batch) => batch.doGetBatchResults({ batchId, abortSignal: context.signal }));
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await this.#with(context, () => reader.read());
      if (done) return;
      const result = resultOf(value, context);
      if (result !== undefined) yield result;
    }
  }

  async cancel(batchId: string, context: BatchContext): Promise<void> {
    await this.#with(context, async (batch) => {
      await batch.doCancelBatch?.({ batchId, abortSignal: context.signal });
    });
  }

  async #with<Value>(context: BatchContext, work: (batch: AiSdkBatch) => PromiseLike<Value>): Promise<Value> {
    const secrets: string[] = [];
    try {
      return await work(checkedBatch(this.#owner, await this.#create(createContext(context, secrets))));
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      throw packageFailure(error, { model: context.model, host: 'its provider', secrets });
    }
  }
}

function createContext({ tags = [], secret }: BatchContext, secrets: string[]): CreateModelContext {
  return {
    tags,
    secret: async (name: string | SecretReference) => {
      if (secret === undefined) throw new ModelCallError('secret_missing', 'Only a worker has secrets');
      const value = await secret(name);
      secrets.push(value);
      return value;
    },
  };
}

function checkedBatch(owner: string, batch: unknown): AiSdkBatch {
  if (memberOf(batch, 'specificationVersion') === 'v4' && typeof memberOf(batch, 'doStartBatch') === 'function') return batch as AiSdkBatch;
  throw new ModelCallError(
    'model_bad_request',
    `"create" of ${owner}() returned no batches of the AI SDK: return what "experimental_batch()" of a provider with specification "v4" returns`,
  );
}

/** Returns a result; undefined for an invalid one. */
function resultOf({ id, status, result, error }: BatchItemResult, { model }: BatchContext): BatchResult | undefined {
  if (typeof id !== 'string') return undefined;
  if (status === 'cancelled' || status === 'expired') return { id, type: 'expired' };
  try {
    if (status !== 'succeeded') throw new ReportedFault(error ?? 'no reason');
    return { id, type: 'answered', answer: answerOf(result) };
  } catch (cause) {
    return { id, type: 'failed', error: packageFailure(cause, { model, host: 'its provider', secrets: [] }) };
  }
}

/** Reads an answer that was not streamed, as if it had been. */
function answerOf(result: unknown): ModelResponse {
  const { content, finishReason, usage, warnings } = isJsonObject(result) ? result : {};
  const answer = new StreamAnswer({}, { needsWord: false });
  answer.take({ type: 'stream-start', warnings });
  for (const [index, part] of (Array.isArray(content) ? content : []).entries()) {
    if (!isJsonObject(part) || typeof part['type'] !== 'string') continue;
    for (const piece of piecesOf({ ...part, type: part['type'] }, String(index))) answer.take(piece);
  }
  answer.take({ type: 'finish', finishReason, usage });
  return answer.response();
}

function piecesOf(part: Record<string, unknown> & { type: string }, id: string): StreamPart[] {
  const { type, text, providerMetadata, citations } = part;
  if (type !== 'text' && type !== 'reasoning') return [part];
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id, providerMetadata, citations },
  ];
}

function said(error: unknown): string {
  const message = memberOf(error, 'message');
  return typeof message === 'string' && message !== '' ? message : thrownText(error);
}
