import { APIError, type OpenAI, toFile } from 'openai';
import { isJsonObject, parsedJson } from '../../../src/core/domain/json.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type {
  BatchClient,
  BatchContext,
  BatchItem,
  BatchResult,
  BatchStatus,
  ModelCallContext,
  ModelRequest,
  ModelResponse,
  NewBatch,
} from '../../../src/core/domain/model.ts';
import { requireRealModelsAllowed } from '../../../src/model/forbid-models.ts';
import { AnswerFault } from '../errors/error-body.ts';
import { ChatAnswer } from './chat-answer.ts';
import { ofAccount } from './opaque-parts.ts';
import { ResponsesAnswer } from './responses-answer.ts';

/** The functions of the provider's client that its batches need. */
interface OpenAIAccess {
  api: 'chat' | 'responses';
  /** Host and port of the provider. */
  host: string;
  /** The key depends on the tags of runs. */
  byTags: boolean;
  connect: (model: string, context: Pick<ModelCallContext, 'tags' | 'secret'>) => Promise<ConnectedAccount>;
  /** Returns the body of an individual request, which is streamed. */
  body: (request: ModelRequest, account: string) => Record<string, unknown>;
  classify: (error: unknown, model: string, key: string | undefined) => ModelCallError;
  /** Learns from a refused request. Returns true if the next request will be another one. */
  learn: (error: unknown, model: string) => boolean;
}

/** The client library with a key, and the fingerprint of its account. */
interface ConnectedAccount {
  client: OpenAI;
  account: string;
  key: string | undefined;
}

/** The metadata name of the key that identifies a batch. */
const KEY = 'longhaul';

const ENDPOINTS = { chat: '/v1/chat/completions', responses: '/v1/responses' } as const;

/** The final statuses of a batch. */
const ENDED: readonly string[] = ['completed', 'expired', 'cancelled', 'failed'];

/** The maximum difference between the provider's and the worker's clocks. */
const CLOCKS_MS = 10 * 60_000;

/** Half of OpenAI's limit: the process has the whole file in memory. */
const MOST_BYTES = 90_000_000;

/** The batches of a provider with OpenAI's API: files of requests and results. */
export class OpenAIBatches implements BatchClient {
  readonly limits = { items: 50_000, bytes: MOST_BYTES };
  readonly byTags: boolean;
  readonly #access: OpenAIAccess;

  constructor(access: OpenAIAccess) {
    this.#access = access;
    this.byTags = access.byTags;
  }

  submit({ key, since, items }: NewBatch, context: BatchContext): Promise<string | undefined> {
    requireRealModelsAllowed(context.model, this.#access.host);
    return this.#with(context, async ({ client, account }) => {
      const known = await this.#find(client, key, since, context.signal);
      if (known !== undefined) return known;
      const made = await items();
      if (made.length === 0) return undefined;
      const { signal } = context;
      const lines = made.map((item) => JSON.stringify(this.#line(item, account)));
      const file = await toFile(Buffer.from(`${lines.join('\n')}\n`), 'longhaul.jsonl', { type: 'application/jsonl' });
      const { id: input } = await client.files.create({ file, purpose: 'batch' }, { signal });
      signal.throwIfAborted();
      const { id } = await client.batches.create(
        { input_file_id: input, endpoint: this.#endpoint, completion_window: '24h', metadata: { [KEY]: key } },
        { signal },
      );
      return id;
    });
  }

  status(id: string, context: BatchContext): Promise<BatchStatus> {
    return this.#with(context, async ({ client }) => {
      const { status, errors } = await client.batches.retrieve(id, { signal: context.signal });
      if (status !== 'failed') return { hasEnded: ENDED.includes(status) };
      const said = (errors?.data ?? []).map(({ code, message }) => [code, message].filter(Boolean).join(': '));
      // The account's limit of batched tokens is reached: another batch may have room.
      const code = said.some((text) => /limit/i.test(text)) ? 'model_rate_limited' : 'model_bad_request';
      return {
        hasEnded: true,
        error: new ModelCallError(code, `The provider has refused batch "${id}": ${said.join(' · ') || 'without a reason'}`),
      };
    });
  }

  async *results(id: string, context: BatchContext): AsyncGenerator<BatchResult> {
    const { signal } = context;
    const { client, account, files } = await this.#with(context, async (connected) => {
      const { output_file_id, error_file_id } = await connected.client.batches.retrieve(id, { signal });
      return { ...connected, files: [output_file_id, error_file_id].filter((one) => one !== undefined && one !== null) };
    });
    for (const file of files) {
      const response = await this.#with(context, () => client.get(`/files/${file}/content`, { signal }).asResponse());
      try {
        for await (const line of linesOf(response)) {
          const result = this.#result(parsedJson(line), { model: context.model, account });
          if (result !== undefined) yield result;
        }
      } catch (error) {
        signal.throwIfAborted();
        throw this.#access.classify(error, context.model, undefined);
      }
    }
  }

  async cancel(id: string, context: BatchContext): Promise<void> {
    await this.#with(context, async ({ client }) => {
      try {
        await client.batches.cancel(id, { signal: context.signal });
      } catch (error) {
        // It has ended.
        if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 409)) throw error;
      }
    });
  }

  get #endpoint(): (typeof ENDPOINTS)[keyof typeof ENDPOINTS] {
    return ENDPOINTS[this.#access.api];
  }

  async #with<Value>(context: BatchContext, work: (connected: ConnectedAccount) => Promise<Value>): Promise<Value> {
    let key: string | undefined;
    try {
      const connected = await this.#access.connect(context.model, context);
      ({ key } = connected);
      return await work(connected);
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      throw this.#access.classify(error, context.model, key);
    }
  }

  /** Returns the id of the batch with a key, if an earlier attempt with a lost answer submitted it. */
  async #find(client: OpenAI, key: string, since: number, signal: AbortSignal): Promise<string | undefined> {
    for await (const { id, metadata, created_at: at } of client.batches.list({ limit: 100 }, { signal })) {
      if (metadata?.[KEY] === key) return id;
      // The newest come first.
      if (at * 1_000 < since - CLOCKS_MS) return undefined;
    }
    return undefined;
  }

  #line({ id, request }: BatchItem, account: string): object {
    const { stream: _, stream_options: __, ...body } = this.#access.body(request, account);
    return { custom_id: id, method: 'POST', url: this.#endpoint, body };
  }

  /** Returns the result on a line; undefined for an invalid line. */
  #result(line: unknown, { model, account }: { model: string; account: string }): BatchResult | undefined {
    if (!isJsonObject(line) || typeof line['custom_id'] !== 'string') return undefined;
    const { custom_id: id, response, error } = line;
    if (isJsonObject(error) && (error['code'] === 'batch_expired' || error['code'] === 'batch_cancelled')) return { id, type: 'expired' };
    try {
      if (!isJsonObject(response))
        throw new APIError(500, isJsonObject(error) ? error : { message: 'no response' }, undefined, new Headers());
      const { status_code: status, body } = response;
      if (status !== 200)
        throw new APIError(typeof status === 'number' ? status : 500, isJsonObject(body) ? body : {}, undefined, new Headers());
      return { id, type: 'answered', answer: ofAccount(this.#answer(body), account) };
    } catch (cause) {
      const isAdapted = this.#access.learn(cause, model) ? { isAdapted: true as const } : {};
      return { id, type: 'failed', error: this.#access.classify(cause, model, undefined), ...isAdapted };
    }
  }

  #answer(body: unknown): ModelResponse {
    if (!isJsonObject(body)) throw new AnswerFault('malformed', 'the answer is not an object');
    const answer = this.#access.api === 'chat' ? new ChatAnswer() : new ResponsesAnswer();
    answer.take({ type: 'data', data: body });
    answer.take({ type: 'end' });
    return answer.response();
  }
}

/** Yields the lines of a body. */
async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest + decoder.decode();
}
