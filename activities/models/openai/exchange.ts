import type OpenAI from 'openai';
import { defined, isJsonObject, parsedJson } from '../../../src/core/domain/json.ts';
import type { ModelCallContext } from '../../../src/core/domain/model.ts';
import { toldCost, type UsageStats } from '../../../src/core/domain/usage.ts';
import type { FinishReason } from '../../../src/core/domain/tool-calls.ts';
import { finishFault, finishReasonOf } from '../../../src/model/answer-text.ts';
import { AnswerFault } from '../errors/error-body.ts';

/** One request to a provider. */
export interface Exchange {
  path: string;
  body: Record<string, unknown>;
  signal: AbortSignal;
  /** Milliseconds without data after which the request is aborted. */
  timeoutMs: number;
  /** True once nothing useful can follow: the answer does not wait for the end of the stream. */
  isComplete: () => boolean;
  /** The milliseconds of silence after which nothing useful follows. Undefined: until the timeout. */
  silenceMs: () => number | undefined;
  /** Called with the headers of the answer. */
  onHeaders: (headers: Headers) => void;
}

/** A piece of an answer: JSON from the provider, or the end mark. */
export type AnswerPiece = { type: 'data'; data: unknown } | { type: 'end' };

/** The maximum bytes of an answer: a larger one could not be recorded. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The time that a complete answer waits for the stream to close, in milliseconds, so that the connection can be reused. */
const CLOSE_WAIT_MS = 250;

/** Posts one request, without retries, and yields the answer, streamed or whole. A broken stream ends without an `end` piece. */
export async function* exchange(
  client: OpenAI,
  { path, body, signal, timeoutMs, isComplete, silenceMs, onHeaders }: Exchange,
): AsyncGenerator<AnswerPiece> {
  signal.throwIfAborted();
  const watch = new IdleTimeout(signal, timeoutMs);
  let closeWait: NodeJS.Timeout | undefined;
  let silence: NodeJS.Timeout | undefined;
  let isSilent = false;
  try {
    const response = await client.post(path, { body, signal: watch.signal, timeout: timeoutMs }).asResponse();
    watch.heard();
    onHeaders(response.headers);
    for await (const piece of piecesOf(response, watch)) {
      if (closeWait !== undefined) continue;
      clearTimeout(silence);
      yield piece;
      const waitMs = silenceMs();
      if (piece.type === 'end' || isComplete()) closeWait = setTimeout(() => watch.end(), CLOSE_WAIT_MS);
      else if (waitMs !== undefined) {
        silence = setTimeout(() => {
          isSilent = true;
          watch.end();
        }, waitMs);
      }
    }
  } catch (error) {
    if (closeWait !== undefined || isSilent) return;
    throw watch.expired ? new AnswerFault('silent', `nothing arrived for ${timeoutMs} ms`) : error;
  } finally {
    clearTimeout(closeWait);
    clearTimeout(silence);
    watch.end();
  }
}

/** Content types of answers that are not event streams, from servers and the proxies before them. */
const WHOLE = /json|text\/(?:html|plain)/;

async function* piecesOf(response: Response, watch: IdleTimeout): AsyncGenerator<AnswerPiece> {
  const text = responseText(response, watch);
  const begin = await beginningOf(text);
  // Some servers send the wrong content type, or none. No line of an event stream begins like JSON.
  const isWhole = WHOLE.test(response.headers.get('content-type') ?? '') || /^\s*[[{]/.test(begin);
  if (!isWhole) return yield* eventsOf(joined(begin, text));
  let whole = begin;
  for await (const piece of text) whole += piece;
  const answer = parsedJson(whole);
  if (answer !== undefined) {
    yield { type: 'data', data: answer };
    yield { type: 'end' };
    return;
  }
  // Some servers send an event stream with the wrong content type.
  if (!/^data:/m.test(whole)) throw new AnswerFault('malformed', 'the answer is neither JSON nor a stream of events', whole);
  yield* eventsOf(ReadableStream.from([whole]));
}

/** Reads pieces of a text up to the first non-blank one. */
async function beginningOf(text: AsyncGenerator<string>): Promise<string> {
  let begin = '';
  for (;;) {
    const { done, value } = await text.next();
    if (done) return begin;
    begin += value;
    if (/\S/.test(value)) return begin;
  }
}

async function* joined(begin: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield begin;
  yield* rest;
}

async function* eventsOf(pieces: AsyncIterable<string>): AsyncGenerator<AnswerPiece> {
  for await (const { data, complete } of serverSentEvents(pieces)) {
    const text = data.trim();
    if (text === '') continue;
    if (text === '[DONE]') {
      yield { type: 'end' };
      continue;
    }
    const value = parsedJson(data);
    if (value !== undefined) yield { type: 'data', data: value };
    else if (complete) throw new AnswerFault('malformed', 'the answer is not JSON', data);
    // A part of the answer is missing, unless it is the end mark.
    else if (!'[DONE]'.startsWith(text)) throw new AnswerFault('cut', 'the connection ended in the middle of an event');
  }
}

async function* responseText(response: Response, watch: IdleTimeout): AsyncGenerator<string, void> {
  const body: AsyncIterable<Uint8Array> | null = response.body;
  if (body === null) return;
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const chunk of body) {
    watch.heard();
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new AnswerFault('malformed', `the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

/** The abort reason of a finished request. It is shared, because creating one for each call would capture a stack that nobody reads. */
const OVER = new DOMException('The request is over', 'AbortError');

/** An abort signal for one request: it follows the caller's signal, and also aborts after a time without data. */
class IdleTimeout {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #follow: () => void;
  readonly #timer: NodeJS.Timeout;
  #expired = false;

  constructor(outer: AbortSignal, timeoutMs: number) {
    this.#outer = outer;
    this.#follow = () => this.#controller.abort(outer.reason);
    outer.addEventListener('abort', this.#follow, { once: true });
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort();
    }, timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the timeout ended the request. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Restarts the timeout. */
  heard(): void {
    this.#timer.refresh();
  }

  /** Releases the caller's signal, and the connection if the answer was not read to its end. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#follow);
    this.#controller.abort(OVER);
  }
}

/** The data of one server-sent event. */
export interface ServerSentEvent {
  data: string;
  /** False for data that was pending when the stream ended: it may be cut off. */
  complete: boolean;
}

/**
 * Reads the data of server-sent events from pieces of text, which may be split at any point. Comments and other fields
 * are skipped.
 */
export async function* serverSentEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let data: string[] = [];
  for await (const line of linesOf(pieces)) {
    if (line !== '') {
      const field = /^\uFEFF?data(?:: ?|$)/.exec(line);
      if (field !== null) data.push(line.slice(field[0].length));
    } else if (data.length > 0) {
      yield { data: data.join('\n'), complete: true };
      data = [];
    }
  }
  if (data.length > 0) yield { data: data.join('\n'), complete: false };
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  // Joined only at a line break, so that a long line in many pieces is not copied repeatedly.
  let pending: string[] = [];
  let afterReturn = false;
  for await (const piece of pieces) {
    // A piece may end within a line break of two characters.
    const text = afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') afterReturn = piece.endsWith('\r');
    pending.push(text);
    if (!/[\r\n]/.test(text)) continue;
    const lines = pending.join('').split(/\r\n|\n|\r/);
    pending = [lines.pop() ?? ''];
    yield* lines;
  }
  const last = pending.join('');
  if (last !== '') yield last;
}

/** The callbacks that receive an answer as it arrives. */
export type AnswerListener = Pick<ModelCallContext, 'onDelta' | 'onUsage'>;

/** Returns the usage that a provider reports, in either API; null if it reports none. */
export function tokenUsage(reported: unknown): UsageStats | null {
  if (!isJsonObject(reported)) return null;
  const prompt = tokenCount(reported['prompt_tokens']) ?? tokenCount(reported['input_tokens']);
  const completion = tokenCount(reported['completion_tokens']) ?? tokenCount(reported['output_tokens']);
  if (prompt === undefined && completion === undefined) return null;
  const cached = tokenDetail(reported, ['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens');
  const written = tokenDetail(reported, ['prompt_tokens_details', 'input_tokens_details'], 'cache_write_tokens');
  const reasoning = tokenDetail(reported, ['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens');
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    totalTokens: tokenCount(reported['total_tokens']) ?? (prompt ?? 0) + (completion ?? 0),
    ...defined({ cachedTokens: cached, cacheWriteTokens: written, reasoningTokens: reasoning }),
    ...reportedCost(reported['cost']),
  };
}

/** Returns the cost of a call in US dollars: OpenRouter reports a number, Perplexity also its parts. OpenAI does not report it. */
export function reportedCost(cost: unknown): ReturnType<typeof toldCost> {
  return toldCost(isJsonObject(cost) ? cost['total_cost'] : cost);
}

function tokenDetail(usage: Record<string, unknown>, groups: string[], name: string): number | undefined {
  for (const group of groups) {
    const details = usage[group];
    if (isJsonObject(details)) return tokenCount(details[name]);
  }
  return undefined;
}

function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/**
 * Returns Longhaul's finish reason, or the provider's own word if there is none. The content of the answer overrides `stop`, which servers
 * also report for tool calls and refusals. It does not override an unknown word: the answer may have been cut off.
 */
export function normalFinishReason(word: string | undefined, answer: { toolCalls: number; refusal: string }): FinishReason {
  const known = finishReasonOf(word ?? 'stop');
  if (known === 'length' || finishFault(known) !== undefined) return known;
  if (answer.refusal !== '') return 'refusal';
  return answer.toolCalls > 0 && known === 'stop' ? 'tool_calls' : known;
}
