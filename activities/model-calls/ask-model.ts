import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/common';
import { counted } from '../../src/core/domain/content/text.ts';
import { errorCode, ModelCallError } from '../../src/core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { type SpentDetails, spentIn } from '../../src/core/domain/model/spent.ts';
import type { Spent } from '../../src/core/domain/model/usage.ts';
import type { ModelDelta } from '../../src/core/domain/stream/delta.ts';
import { readCallsInText } from '../../src/model/calls-in-text.ts';
import { requireAnswer } from '../../src/model/require-answer.ts';
import { ReasoningSplitter, splitReasoning } from '../../src/model/split-reasoning.ts';
import type { AbortRegistry } from '../attempts/abort-registry.ts';
import { type AttemptOptions, runAttempt } from '../attempts/attempt.ts';
import type { BeginStream } from '../attempts/streams/model-stream.ts';
import { lastDetails } from '../attempts/worker-wait.ts';
import { failingAs, toFailure } from '../failures/failure.ts';
import { NO_CHANGE, type SerializableFailure, withStack } from '../failures/serializable-failure.ts';
import { thrownCode, thrownWaitMs } from '../models/errors/thrown-code.ts';
import { limitPartialText } from './limit-response-size.ts';
import { type Pace, paceOf } from './pacing.ts';
import { Patience } from './patience.ts';
import { SpentAttempts } from './spent-attempts.ts';

/**
 * Wraps an activity that calls a model. Its patience decides whether a failure is the last one. If it fails before the call, its failure
 * still carries the cost of earlier attempts.
 */
export function modelActivity<Input, Output>(
  work: (input: Input, patience: Patience) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return failingAs('model_error', async (input) => {
    const patience = new Patience();
    try {
      return await work(input, patience);
    } catch (error) {
      throw patience.settled(withSpentBefore(error));
    }
  });
}

function withSpentBefore(error: unknown): SerializableFailure {
  const spent = spentIn(lastDetails());
  const failure = toFailure(error, 'model_error');
  if (spent === undefined || !(failure instanceof ApplicationFailure) || (failure.details ?? []).length > 0) return failure;
  const { message, type, nonRetryable, nextRetryDelay, cause } = failure;
  const details: SpentDetails = { spent };
  return withStack(new ApplicationFailure(message, type, nonRetryable, [details], cause, nextRetryDelay), failure, NO_CHANGE);
}

/** One model call. */
interface ModelCallOptions extends Pick<AttemptOptions, 'heartbeatMs' | 'interruptibleBy'>, Pick<ModelCallContext, 'tags' | 'secret'> {
  client: ModelClient;
  request: ModelRequest;
  /** The id of the event that will hold the answer, or the part of it that has arrived. Another one in each attempt. */
  eventId: string;
  patience: Patience;
  /** Streams the answer. */
  beginStream?: BeginStream | undefined;
  /** True if an empty answer is handled by `read`. Default: it is a failed attempt. */
  mayBeEmpty?: boolean;
  /** Returns the request that is sent instead. If it rejects, nothing is sent. */
  prepare?: (request: ModelRequest, signal: AbortSignal) => Promise<ModelRequest>;
}

/** The outcome of one attempt of a model call, unless it failed. */
type AttemptOutcome<Result> =
  | { type: 'answered'; result: Result; failedAttempts?: Spent }
  /** Cancelled or interrupted by the run. Without `partial` no request had been sent. */
  | { type: 'aborted'; partial?: RecordedResponse };

/**
 * Calls a model once, and returns what `read` makes of the answer. A response that answers nothing is a failure, for every model
 * client: it is tried again as long as the call has attempts. The cost of failed attempts is never lost: this
 * attempt passes it to the next one, a success reports the cost of earlier attempts, and a failure carries the total in
 * its details.
 */
export async function askModel<Result>(
  aborts: AbortRegistry,
  { client, request, eventId, beginStream, prepare, patience, mayBeEmpty = false, tags, secret, ...options }: ModelCallOptions,
  read: (answer: ModelResponse, signal: AbortSignal) => Result | Promise<Result>,
): Promise<AttemptOutcome<Result>> {
  const known = { ...(tags === undefined ? {} : { tags }), ...(secret === undefined ? {} : { secret }) };
  const spent = new SpentAttempts(request, lastDetails());
  const pace = (): Pace | undefined => paceOf(client, request, known);
  return runAttempt(aborts, { ...options, details: () => kept(patience, spent) }, async (current) => {
    const { signal } = current;
    let isSent = false;
    let isAnswered = false;
    let sentAt = 0;
    const stream = beginStream?.(current);
    try {
      signal.throwIfAborted();
      if ((pace()?.waitFor(patience.call) ?? 0) > 0) await inTurn(pace, patience, request, signal);
      const sent = (await prepare?.(request, signal)) ?? request;
      signal.throwIfAborted();
      isSent = true;
      const { onDelta, onUsage } = spent.listener((delta) => stream?.add(delta));
      const apart = new ReasoningApart(request, onDelta);
      let given: ModelResponse;
      sentAt = performance.now();
      try {
        given = await client.call(sent, { ...known, signal, onDelta: (delta) => apart.take(delta), onUsage });
      } finally {
        apart.end();
      }
      isAnswered = true;
      pace()?.answered(sentAt);
      const whole = apart.answer(given);
      stream?.end();
      spent.answered(given);
      const answer = readCallsInText(whole, sent.tools);
      requireAnswer(answer, request.model, { mayBeEmpty, hasReasoned: whole !== given });
      return { type: 'answered', result: await read(answer, signal), ...failedAttempts(spent) };
    } catch (error) {
      // An abort by the run's own cancellation is an outcome, not an error: as an error it would race with the
      // server's cancel and be recorded as a failure.
      if (signal.aborted && current.isCancelled()) return { type: 'aborted', ...partial(spent, isSent, eventId) };
      // The server knows the cost of earlier attempts. New cost reaches it with the failure: this heartbeat needs no
      // call of its own.
      if (spent.current !== undefined) current.heartbeat(kept(patience, spent));
      if (signal.aborted) throw signal.reason;
      // A client that chooses its key during the call knows only now which limit has counted it.
      if (isSent) patience.failed(pace(), sentAt, thrownWaitMs(error));
      // The next answer may pass the filter of the provider: one of an earlier attempt did not, and no request was refused.
      const isRetryable = isAnswered && errorCode(error) === 'content_filter';
      // An answer that cannot be interpreted is not paid for again.
      throw toFailure(error, isAnswered ? 'model_error' : thrownCode(error), { details: spent.details, isRetryable });
    } finally {
      stream?.end();
    }
  });
}

/** The time in which calls that were refused together are all known, in milliseconds. */
const SETTLE_MS = 200;

/** Waits for the place of the call in the queue of those that the provider has refused. Throws if it is too far away. */
async function inTurn(pace: () => Pace | undefined, patience: Patience, { model }: ModelRequest, signal: AbortSignal): Promise<void> {
  const until = performance.now() + patience.holdMs;
  const pause = async (ms: number): Promise<void> => {
    await sleep(ms, undefined, { signal }).catch(() => {
      pace()?.leave(patience.call);
      throw signal.reason;
    });
  };
  let isFirst = true;
  for (;;) {
    const queue = pace();
    const wait = queue?.waitFor(patience.call) ?? 0;
    if (wait === 0) return;
    if (isFirst && patience.hasWaited) {
      isFirst = false;
      await pause(Math.min(wait, SETTLE_MS));
      // In the test kit, waits between attempts take no time. Only calls that compete for a limit need real time.
      if (queue?.goAlone(patience.call)) return;
      continue;
    }
    if (performance.now() + wait > until) {
      patience.parked(wait);
      throw new ModelCallError(
        'model_rate_limited',
        `Not sent yet: ${counted(queue?.waiting ?? 0, 'call')} of model "${model}" wait, because the provider refuses some`,
      );
    }
    await pause(wait);
  }
}

/** Returns the details that the next attempt reads; undefined for none. */
function kept(patience: Patience, spent: SpentAttempts): object | undefined {
  return patience.details === undefined && spent.details === undefined ? undefined : { ...patience.details, ...spent.details };
}

function failedAttempts({ before }: SpentAttempts): { failedAttempts?: Spent } {
  return before === undefined ? {} : { failedAttempts: before };
}

/** Returns the part of an aborted answer that had arrived. It counts if any attempt has sent a request. */
function partial(spent: SpentAttempts, isSent: boolean, id: string): { partial?: RecordedResponse } {
  if (!isSent && spent.before === undefined) return {};
  const text = limitPartialText(spent.text);
  const content = text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }];
  const usage = isSent ? spent.usage : { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  return { partial: { id, content, finishReason: 'interrupted', usage, ...failedAttempts(spent) } };
}

/**
 * Keeps the reasoning that an answer begins with (`<think>…</think>`) out of its text: its pieces become pieces of reasoning, as those
 * of a provider that marks them. `settings.thinkTags: 'text'` leaves everything as it is. Never throws for what a client reports.
 */
class ReasoningApart {
  readonly #onDelta: (delta: ModelDelta) => void;
  readonly #splitter: ReasoningSplitter | undefined;
  #hasText = false;

  constructor({ settings }: Pick<ModelRequest, 'settings'>, onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
    this.#splitter = settings.thinkTags === 'text' ? undefined : new ReasoningSplitter();
  }

  /** Passes on a piece of the answer, which may be none. */
  take(given: ModelDelta): void {
    const { type, text } = fieldsOf(given);
    if (this.#splitter === undefined || type !== 'text' || typeof text !== 'string') {
      this.#onDelta(given);
      return;
    }
    this.#hasText = true;
    for (const piece of this.#splitter.add(text)) this.#onDelta(piece);
  }

  /** Passes on what was held back, because more might have followed. */
  end(): void {
    for (const piece of this.#splitter?.end() ?? []) this.#onDelta(piece);
  }

  /** Returns the answer without the reasoning. If the client has reported no text, the reasoning is passed on as one piece. */
  answer(given: ModelResponse): ModelResponse {
    const { content } = fieldsOf(given);
    if (this.#splitter === undefined || typeof content !== 'string') return given;
    const { text, reasoning } = splitReasoning(content);
    if (text === content) return given;
    if (!this.#hasText && reasoning !== '') this.#onDelta({ type: 'reasoning', text: reasoning });
    return { ...given, content: text };
  }
}

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}
