import { ApplicationFailure } from '@temporalio/common';
import { errorCode } from '../../src/core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { spentIn, type SpentDetails } from '../../src/core/domain/model/spent.ts';
import type { Spent } from '../../src/core/domain/model/usage.ts';
import { readCallsInText } from '../../src/model/calls-in-text.ts';
import { requireAnswer } from '../../src/model/require-answer.ts';
import { attempt, type AttemptOptions } from '../attempts/attempt.ts';
import type { AbortRegistry } from '../attempts/abort-registry.ts';
import { failingAs, toFailure } from '../failures/failure.ts';
import { limitPartialText } from './limit-response-size.ts';
import { thrownCode } from '../models/errors/thrown-code.ts';
import { NO_CHANGE, withStack } from '../failures/serializable-failure.ts';
import type { BeginStream } from '../attempts/streams/model-stream.ts';
import { SpentAttempts } from './spent-attempts.ts';
import { lastDetails } from '../attempts/worker-wait.ts';

/** Wraps an activity that calls a model. If it fails before the call, its failure still carries the cost of earlier attempts. */
export function modelActivity<Input, Output>(work: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
  return failingAs('model_error', async (input) => {
    try {
      return await work(input);
    } catch (error) {
      throw withSpentBefore(error);
    }
  });
}

function withSpentBefore(error: unknown): unknown {
  const spent = spentIn(lastDetails());
  const failure = toFailure(error, 'model_error');
  if (spent === undefined || !(failure instanceof ApplicationFailure) || (failure.details ?? []).length > 0) return failure;
  const { message, type, nonRetryable, nextRetryDelay, cause } = failure;
  const details: SpentDetails = { spent };
  return withStack(new ApplicationFailure(message, type, nonRetryable, [details], cause, nextRetryDelay), failure, NO_CHANGE);
}

/** One model call. */
export interface ModelCallOptions
  extends Pick<AttemptOptions, 'heartbeatMs' | 'interruptibleBy'>, Pick<ModelCallContext, 'tags' | 'secret'> {
  client: ModelClient;
  request: ModelRequest;
  /** The id of the event that will hold the answer, or the part of it that has arrived. Another one in each attempt. */
  eventId: string;
  /** Streams the answer. */
  beginStream?: BeginStream | undefined;
  /** True if an empty answer is handled by `read`. Default: it is a failed attempt. */
  mayBeEmpty?: boolean;
  /** Returns the request that is sent instead. If it rejects, nothing is sent. */
  prepare?: (request: ModelRequest, signal: AbortSignal) => Promise<ModelRequest>;
}

/** The outcome of one attempt of a model call, unless it failed. */
export type AttemptOutcome<Result> =
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
  { client, request, eventId, beginStream, prepare, mayBeEmpty = false, tags, secret, ...options }: ModelCallOptions,
  read: (answer: ModelResponse, signal: AbortSignal) => Result | Promise<Result>,
): Promise<AttemptOutcome<Result>> {
  const known = { ...(tags === undefined ? {} : { tags }), ...(secret === undefined ? {} : { secret }) };
  const spent = new SpentAttempts(request, lastDetails());
  return attempt(aborts, { ...options, details: () => spent.details }, async (current) => {
    const { signal } = current;
    let isSent = false;
    let isAnswered = false;
    const stream = beginStream?.(current);
    try {
      signal.throwIfAborted();
      const sent = (await prepare?.(request, signal)) ?? request;
      signal.throwIfAborted();
      isSent = true;
      const given = await client.call(sent, { ...known, signal, ...spent.listener((delta) => stream?.add(delta)) });
      isAnswered = true;
      stream?.end();
      spent.answered(given);
      const answer = readCallsInText(given, sent.tools);
      requireAnswer(answer, request.model, { mayBeEmpty });
      return { type: 'answered', result: await read(answer, signal), ...failedAttempts(spent) };
    } catch (error) {
      // An abort by the run's own cancellation is an outcome, not an error: as an error it would race with the
      // server's cancel and be recorded as a failure.
      if (signal.aborted && current.isCancelled()) return { type: 'aborted', ...partial(spent, isSent, eventId) };
      // The server knows the cost of earlier attempts. New cost reaches it with the failure: this heartbeat needs no
      // call of its own.
      if (spent.current !== undefined) current.heartbeat(spent.details);
      if (signal.aborted) throw signal.reason;
      // The next answer may pass the filter of the provider: one of an earlier attempt did not, and no request was refused.
      const isRetryable = isAnswered && errorCode(error) === 'content_filter';
      // An answer that cannot be interpreted is not paid for again.
      throw toFailure(error, isAnswered ? 'model_error' : thrownCode(error), { details: spent.details, isRetryable });
    } finally {
      stream?.end();
    }
  });
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
