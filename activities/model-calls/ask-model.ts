import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { estimatedRequestTokens, estimatedTokens } from '../../src/core/domain/agent.ts';
import { defined } from '../../src/core/domain/json.ts';
import { counted, utf8Length } from '../../src/core/domain/text.ts';
import { errorCode, ModelCallError } from '../../src/core/domain/errors.ts';
import type { AnswerOrigin } from '../../src/core/domain/fallback.ts';
import { PAUSED } from '../../src/core/domain/content.ts';
import {
  addSpent,
  cleanUsage,
  type EstimatedUsage,
  type ModelPrice,
  pricedSpent,
  type Spent,
  type SpentDetails,
  spentIn,
  type UsageStats,
} from '../../src/core/domain/usage.ts';
import {
  isNotSent,
  type ModelCallContext,
  type ModelRequest,
  type ModelResponse,
  NOT_SENT,
  type RateLimits,
  type RecordedResponse,
} from '../../src/core/domain/model.ts';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import type { Permit } from '../../src/governor/provider-permits.ts';
import { CallsInTextHold, readCallsInText, ReasoningSplitter, requireAnswer, splitReasoning } from '../../src/model/answer-text.ts';
import { withoutPlaces } from '../../src/model/check-output.ts';
import { type AbortRegistry, type AttemptOptions, lastDetails, runAttempt } from '../attempts/attempt.ts';
import { failingAs, NO_CHANGE, type SerializableFailure, toFailure, withStack } from '../attempts/failure.ts';
import { ParkedAttempt } from '../attempts/attempt-info.ts';
import { callClient } from '../fresh-secrets.ts';
import type { GovernedCall } from '../governor/governed-call.ts';
import { thrownCode, thrownWaitMs } from '../models/errors/error-rules.ts';
import type { BeginStream } from '../streams/activity-streams.ts';
import { filesOf, limitPartialText } from './recorded-answer.ts';
import type { BeginModelSpan, ModelSpan } from '../telemetry/call-spans.ts';
import { AnswerStream, type AskedModel, type AskedModels, ModelOrder, TimeLimit } from './fallback.ts';
import { type Pace, paceOf, Patience } from './patience.ts';
import { realSleep } from '../../src/temporal/real-timers.ts';

/**
 * Wraps an activity that calls a model. Its patience decides whether a failure is final. If it fails before the call, its failure still
 * carries the cost of earlier attempts.
 */
export function modelActivity<Input, Output>(
  work: (input: Input, patience: Patience) => Promise<Output>,
): (input: Input) => Promise<Output> {
  return failingAs('model_error', async (input) => {
    const patience = new Patience();
    try {
      return await work(input, patience);
    } catch (error) {
      if (error instanceof ParkedAttempt) throw patience.parkedFailure(error);
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
interface ModelCallOptions
  extends Pick<AttemptOptions, 'heartbeatMs' | 'interruptibleBy'>, Pick<ModelCallContext, 'tags' | 'secret' | 'cache' | 'readFile'> {
  asked: AskedModels;
  patience: Patience;
  /** Creates the id of the event that will have the answer, or its received part. Default: a UUID. */
  newId?: () => string;
  /** Streams the answer. */
  beginStream?: BeginStream | undefined;
  /** Begins the span of each model that is asked. */
  beginSpan?: BeginModelSpan | undefined;
  /** Applies the providers' limits. Absent: there are none. */
  governed?: GovernedCall | undefined;
  /** True if an empty answer is handled by `read`. Default: it is a failed attempt. */
  mayBeEmpty?: boolean;
}

/** An answer that a model has given. */
interface GivenAnswer {
  answer: ModelResponse;
  /** Aborts the processing of the answer. */
  signal: AbortSignal;
  /** The id of the event that will have it. */
  eventId: string;
  /** The model that gave it, `provider/model`. */
  model: string;
  /** The recorded origin, if the call has several models. */
  origin: AnswerOrigin;
}

/** The outcome of one attempt of a model call, unless it failed. */
type AttemptOutcome<Result> =
  | { type: 'answered'; result: Result; failedAttempts?: Spent }
  /** Cancelled or interrupted by the run. Without `partial` no request had been sent. */
  | { type: 'aborted'; partial?: RecordedResponse };

/**
 * Calls a model once, and returns what `read` makes of the answer. An empty response is a failure, for every model client: it is retried as
 * long as the call has attempts. If the call has a list of models, the next one is asked within the same attempt. The cost of failed
 * attempts is never lost: this attempt passes it to the next one, a success reports the cost of earlier attempts, and a failure carries the
 * total in its details.
 */
export async function askModel<Result>(
  aborts: AbortRegistry,
  options: ModelCallOptions,
  read: (given: GivenAnswer) => Result | Promise<Result>,
): Promise<AttemptOutcome<Result>> {
  const { asked, newId = randomUUID, beginStream, beginSpan, patience, governed, mayBeEmpty = false } = options;
  const known = knownOf(options);
  const order = new ModelOrder(asked, known, patience.call);
  let call = new CallOfModel(order.current, known, lastDetails());
  return runAttempt(aborts, { ...options, details: () => retryDetails(patience, call.spent) }, async (current) => {
    const { signal } = current;
    let span: ModelSpan | undefined;
    const beginModel = (): ModelSpan | undefined => (span = beginSpan?.(order.current.name, { inBatch: order.current.inBatch }));
    const begin = (eventId: string): ReturnType<BeginStream> => beginStream?.(current, eventId);
    const stream = new AnswerStream(newId, begin, () => span?.piece());
    const answer = async (): Promise<ModelResponse> => {
      for (; ; call = call.of(order)) {
        try {
          call = call.permitted(order, await permitOf(governed, order, { signal, patience, beginModel }));
          beginModel();
          const bounds = { signal, limitMs: order.limitMs, mayBeEmpty };
          return await inSpan(span, { signal, spent: call.spent, send: () => call.send(patience, stream, bounds) });
        } catch (error) {
          const { pace, sentAt } = call;
          if (signal.aborted || error instanceof ParkedAttempt || !order.moveOn(error, { pace, sentAt })) throw error;
          span?.movedOn(order.current.name);
          stream.reset();
        }
      }
    };
    try {
      signal.throwIfAborted();
      const given = { answer: await answer(), signal, eventId: stream.eventId, model: order.current.name, origin: order.answered() };
      return { type: 'answered', result: await read(given), ...failedAttempts(call.spent) };
    } catch (error) {
      const { spent, isSent, isAnswered } = call;
      if (error instanceof ParkedAttempt) throw error;
      // An abort by the run's own cancellation is an outcome, not an error: as an error it would race with the
      // server's cancel and be recorded as a failure.
      if (signal.aborted && current.isCancelled())
        return { type: 'aborted', ...partialResponse(spent, isSent, { id: stream.eventId, ...order.partialOrigin }) };
      // The server knows the cost of earlier attempts. New cost reaches it with the failure: this heartbeat needs no
      // separate request.
      if (call.hasCost) current.heartbeat(retryDetails(patience, spent));
      if (signal.aborted) throw signal.reason;
      // A client that chooses its key during the call only knows now which limit counted it.
      const { pace, sentAt, askedMs } = order.soonest(error) ?? { pace: call.pace, sentAt: call.sentAt, askedMs: thrownWaitMs(error) };
      if (isSent) patience.failed(pace, sentAt, askedMs);
      // The next answer may pass the provider's filter: here an answer was withheld, not the request refused.
      const isRetryable = isAnswered && errorCode(error) === 'content_filter';
      // After an answer that cannot be interpreted, the call is not paid for again.
      throw toFailure(order.failure(error), isAnswered ? 'model_error' : thrownCode(error), { details: spent.details, isRetryable });
    } finally {
      stream.end();
    }
  });
}

/** Returns the part of a call's context that clients receive in addition to the request. */
function knownOf({ tags, secret, cache, readFile }: ModelCallOptions): Pick<ModelCallContext, 'tags' | 'secret' | 'cache' | 'readFile'> {
  return defined({ tags, secret, cache, readFile });
}

/** The parts of an attempt that the next model's permit needs. */
interface Entry {
  signal: AbortSignal;
  patience: Patience;
  /** Begins the span of the model, which shows if the permit would come too late, because the provider has not refused the call. */
  beginModel: () => ModelSpan | undefined;
}

/** Waits for the permit of the next request, if there are limits. */
async function permitOf(
  governed: GovernedCall | undefined,
  order: ModelOrder,
  { beginModel, ...entry }: Entry,
): Promise<Permit | undefined> {
  try {
    return await governed?.enter(order, entry);
  } catch (error) {
    if (!(error instanceof ParkedAttempt) && isNotSent(error)) beginModel()?.failed(error, null, { isAborted: false });
    throw error;
  }
}

/** A request to a model, and its cost so far. */
interface SpannedRequest {
  signal: AbortSignal;
  spent: SpentAttempts;
  send: () => Promise<ModelResponse>;
}

/** Sends a request inside the span of its model, if there is one. */
async function inSpan(span: ModelSpan | undefined, { signal, spent, send }: SpannedRequest): Promise<ModelResponse> {
  if (span === undefined) return send();
  try {
    const given = await span.within(send);
    span.answered(given, spent.usage);
    return given;
  } catch (error) {
    span.failed(error, spent.usage, { isAborted: signal.aborted });
    throw error;
  }
}

/** The bounds of one request. */
interface RequestBounds {
  signal: AbortSignal;
  /** Milliseconds for this model. Undefined: the attempt's. */
  limitMs: number | undefined;
  mayBeEmpty: boolean;
}

/** Returns the tokens of a request; undefined if unknown. */
function tokensOf(spent: Spent | undefined): number | undefined {
  return spent?.reported?.totalTokens ?? spent?.estimated?.totalTokens;
}

/** The call of one model within an attempt. */
class CallOfModel {
  readonly spent: SpentAttempts;
  sentAt = 0;
  readonly #model: AskedModel;
  readonly #context: Pick<ModelCallContext, 'tags' | 'secret' | 'cache' | 'readFile'>;
  #permit: Permit | undefined;
  #isPermitted = false;
  #hasCostBefore = false;
  #phase: 'waiting' | 'sent' | 'answered' = 'waiting';
  #hasFailed = false;

  /** `details`: the cost of earlier attempts and of earlier models. */
  constructor(model: AskedModel, context: Pick<ModelCallContext, 'tags' | 'secret' | 'cache' | 'readFile'>, details: unknown) {
    this.#model = model;
    this.#context = context;
    this.spent = new SpentAttempts(model.request, details, model.price);
  }

  /** Returns the call of the current model: this one, or a new one, which has nothing of this one except its cost. */
  of({ current: model }: ModelOrder): CallOfModel {
    if (model === this.#model) return this;
    const call = new CallOfModel(model, this.#context, this.spent.details);
    call.#hasCostBefore = this.hasCost;
    return call;
  }

  /** Returns the call of the current model with its permit, or without one if its provider has no limits. It may be sent. */
  permitted(order: ModelOrder, permit: Permit | undefined): CallOfModel {
    const call = this.of(order);
    call.#isPermitted = true;
    call.#permit = permit;
    return call;
  }

  /** The queue of the calls that share one limit of the provider. A governor has a queue for all processes. */
  get pace(): Pace | undefined {
    if (!this.#isPermitted || this.#permit !== undefined) return undefined;
    return paceOf(this.#model.client, this.#model.request, this.#context);
  }

  /** True if this attempt has a cost, from this model or an earlier one. */
  get hasCost(): boolean {
    return this.#hasCostBefore || this.spent.current !== undefined;
  }

  get isSent(): boolean {
    return this.#phase === 'sent' || this.#phase === 'answered';
  }

  get isAnswered(): boolean {
    return this.#phase === 'answered';
  }

  /** Sends the request when its turn comes, and returns the answer. Throws if the answer is empty. */
  async send(patience: Patience, stream: AnswerStream, bounds: RequestBounds): Promise<ModelResponse> {
    try {
      const answer = await this.#send(patience, stream, bounds);
      this.#permit?.settle(tokensOf(this.spent.current));
      return answer;
    } catch (error) {
      const code = errorCode(error) ?? thrownCode(error);
      if (code === 'model_rate_limited') this.#permit?.refused(thrownWaitMs(error));
      this.#permit?.settle(tokensOf(this.spent.current) ?? 0);
      throw error;
    }
  }

  async #send(patience: Patience, stream: AnswerStream, { signal, limitMs, mayBeEmpty }: RequestBounds): Promise<ModelResponse> {
    const { name, client, request, prepare, unknownTool } = this.#model;
    if (unknownTool !== undefined) {
      throw new ModelCallError(
        'model_bad_request',
        `The provider of model "${name}" does not know the hosted tool "${unknownTool}": remove it from "tools", or choose a model whose provider has it`,
      );
    }
    if ((this.pace?.waitFor(patience.call) ?? 0) > 0) await waitForPace(() => this.pace, patience, request, signal);
    const sent = (await prepare?.(request, signal)) ?? request;
    signal.throwIfAborted();
    this.#phase = 'sent';
    const hold = new CallsInTextHold(sent);
    const show = (deltas: ModelDelta[]): void => {
      // A failed model may still be sending.
      if (!this.#hasFailed) for (const delta of deltas) stream.add(delta);
    };
    const { onDelta, onUsage } = this.spent.listener((delta) => show(hold.add(delta)));
    const apart = new ReasoningApart(request, onDelta);
    const limit = limitMs === undefined ? undefined : new TimeLimit(name, limitMs);
    try {
      const given = await this.#answer(async () => {
        const permit = this.#permit;
        const onRateLimits = permit && ((limits: RateLimits): void => permit.learn(limits));
        const context = { ...this.#context, signal: limit?.within(signal) ?? signal, onUsage, ...defined({ onRateLimits }) };
        try {
          return await callClient(client, sent, { ...context, onDelta: (delta) => apart.take(delta) });
        } finally {
          apart.end();
        }
      });
      const whole = apart.answer(given);
      const answer = readCallsInText(whole, sent.tools);
      if (answer === whole) show(hold.release());
      stream.end();
      this.spent.answered(given);
      const isMore = filesOf(answer).length > 0 || fieldsOf(answer)['finishReason'] === PAUSED;
      requireAnswer(answer, request.model, { mayBeEmpty: mayBeEmpty || isMore, hasReasoned: whole !== given });
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      limit?.clear();
    }
  }

  async #answer(call: () => Promise<ModelResponse>): Promise<ModelResponse> {
    this.sentAt = performance.now();
    const given = await call();
    this.#phase = 'answered';
    this.pace?.answered(this.sentAt);
    return given;
  }
}

/** The time after which all calls that were refused together are known, in milliseconds. */
const SETTLE_MS = 200;

/** Waits for the call's place in the queue of refused calls. Throws if it is too far away. */
async function waitForPace(pace: () => Pace | undefined, patience: Patience, { model }: ModelRequest, signal: AbortSignal): Promise<void> {
  const until = performance.now() + patience.holdMs;
  const pause = async (ms: number): Promise<void> => {
    await realSleep(ms, { signal }).catch(() => {
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
        `${NOT_SENT}${counted(queue?.waiting ?? 0, 'call')} of model "${model}" wait, because the provider refuses some`,
      );
    }
    await pause(wait);
  }
}

/** Returns the details for the next attempt, or undefined. */
function retryDetails(patience: Patience, spent: SpentAttempts): object | undefined {
  return patience.details === undefined && spent.details === undefined ? undefined : { ...patience.details, ...spent.details };
}

function failedAttempts({ before }: SpentAttempts): { failedAttempts?: Spent } {
  return defined({ failedAttempts: before });
}

/** Returns the received part of an aborted answer. It counts if any attempt has sent a request. */
function partialResponse(
  spent: SpentAttempts,
  isSent: boolean,
  from: Pick<RecordedResponse, 'id' | 'answeredBy'>,
): { partial?: RecordedResponse } {
  if (!isSent && spent.before === undefined) return {};
  const text = limitPartialText(spent.text);
  const content = text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }];
  const usage = isSent ? spent.usage : { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  return { partial: { ...from, content, finishReason: 'interrupted', usage, ...failedAttempts(spent) } };
}

/**
 * Separates the reasoning at the beginning of an answer (`<think>…</think>`) from its text: its pieces become pieces of reasoning, as from
 * a provider that marks them. `settings.thinkTags: 'text'` changes nothing. Never throws for invalid reports of a client.
 */
class ReasoningApart {
  readonly #onDelta: (delta: ModelDelta) => void;
  readonly #splitter: ReasoningSplitter | undefined;
  #hasText = false;

  constructor({ settings }: Pick<ModelRequest, 'settings'>, onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
    this.#splitter = settings.thinkTags === 'text' ? undefined : new ReasoningSplitter();
  }

  /** Passes on a piece of the answer, which may be invalid. */
  take(given: ModelDelta): void {
    const { type, text } = fieldsOf(given);
    if (this.#splitter === undefined || type !== 'text' || typeof text !== 'string') {
      this.#onDelta(given);
      return;
    }
    this.#hasText = true;
    for (const piece of this.#splitter.add(text)) this.#onDelta(piece);
  }

  /** Passes on text that was held back in case more followed. */
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
    return { ...given, content: text, ...(given.sources === undefined ? {} : { sources: withoutPlaces(given.sources) }) };
  }
}

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}

/**
 * The cost of a model call so far: of earlier attempts and of the current one. A provider that has begun to answer charges for the answer,
 * even if it never arrives. Reported usage is exact; without a report, the request and the received part are estimated. An attempt that
 * received nothing (429, 5xx, no connection) costs nothing.
 *
 * An attempt passes its cost to the next one in its heartbeat details: in periodic heartbeats, and in one more if it fails, which is sent
 * with the failure. So nothing is lost if this process sees the attempt end. Two costs are lost: if a process is killed (SIGKILL, the
 * machine), the part that arrived since its last heartbeat, at most one interval of one attempt; and if a call is cancelled while it waits
 * for its next attempt, the cost of earlier attempts, because the server ends such a call itself.
 */
export class SpentAttempts {
  /** The cost of earlier attempts. */
  readonly before: Spent | undefined;
  /** The text received so far. */
  text = '';
  readonly #request: ModelRequest;
  #bytesBeside = 0;
  #lastCallId: string | undefined;
  readonly #price: ModelPrice | undefined;
  #usage: UsageStats | null = null;
  #isAnswered = false;

  /**
   * `details`: of the last heartbeat of earlier attempts. `price`: given if the run cannot price the attempts itself, because several
   * models made them.
   */
  constructor(request: ModelRequest, details: unknown, price?: ModelPrice) {
    this.#request = request;
    this.#price = price;
    this.before = spentIn(details);
  }

  /** Returns the callbacks that receive the answer as it arrives. `pass` gets each valid piece, until the call has ended. */
  listener(pass: (delta: ModelDelta) => void = () => undefined): Required<Pick<ModelCallContext, 'onDelta' | 'onUsage'>> {
    return {
      onDelta: (given) => {
        const delta = this.#isAnswered ? undefined : checkedDelta(given);
        if (delta === undefined) return;
        this.#receive(delta);
        pass(delta);
      },
      onUsage: (usage) => this.#report(usage),
    };
  }

  /** The name of a tool counts once for each call. */
  #receive(delta: ModelDelta): void {
    if (delta.type === 'text') {
      this.text += delta.text;
      return;
    }
    this.#bytesBeside += utf8Length(delta.text);
    if (delta.type !== 'tool_input' || delta.callId === this.#lastCallId) return;
    this.#lastCallId = delta.callId;
    this.#bytesBeside += utf8Length(delta.toolName);
  }

  /** The usage that the provider has reported for this attempt. */
  get usage(): UsageStats | null {
    return this.#usage;
  }

  /** Records the whole answer of the model client, which may be malformed. */
  answered(answer: unknown): void {
    this.#isAnswered = true;
    const { usage, content } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
    this.#report(usage);
    // A client need not report deltas.
    if (this.text === '' && typeof content === 'string') this.text = content;
  }

  /** The cost of this attempt so far, or undefined. */
  get current(): Spent | undefined {
    if (this.#usage !== null && this.#usage.totalTokens > 0) return pricedSpent({ reported: this.#usage }, this.#price);
    if (!this.#isAnswered && this.text === '' && this.#bytesBeside === 0) return undefined;
    return pricedSpent({ estimated: this.#estimate() }, this.#price);
  }

  /** The cost of all attempts so far, for heartbeats and failures. */
  get details(): SpentDetails | undefined {
    const spent = addSpent(this.before, this.current);
    return spent === undefined ? undefined : { spent };
  }

  #report(usage: unknown): void {
    this.#usage = cleanUsage(usage) ?? this.#usage;
  }

  #estimate(): EstimatedUsage {
    const promptTokens = estimatedRequestTokens(this.#request);
    const completionTokens = estimatedTokens(utf8Length(this.text) + this.#bytesBeside);
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }
}

/** The maximum recorded lengths of call ids and tool names. */
const MAX_ID_LENGTH = 64;
const MAX_NAME_LENGTH = 128;

/**
 * Returns a piece of an answer in the form that is passed on; undefined for anything else. A model client's reports are not trusted, and
 * this never throws. The id or the name of a call may be empty.
 */
export function checkedDelta(given: unknown): ModelDelta | undefined {
  try {
    if (typeof given !== 'object' || given === null) return undefined;
    const { type, text, callId, toolName, hosted } = given as Partial<Record<string, unknown>>;
    if (typeof text !== 'string') return undefined;
    if (type === 'text' || type === 'reasoning') return text === '' ? undefined : { type, text };
    if (type !== 'tool_input') return undefined;
    const call = { callId: boundedName(callId, MAX_ID_LENGTH), toolName: boundedName(toolName, MAX_NAME_LENGTH) };
    return { type, ...call, text, ...(hosted === true ? { hosted } : {}) };
  } catch {
    // A getter of the client has thrown.
    return undefined;
  }
}

function boundedName(value: unknown, length: number): string {
  return typeof value === 'string' ? value.slice(0, length).toWellFormed() : '';
}
