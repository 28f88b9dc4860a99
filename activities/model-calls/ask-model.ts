import { ApplicationFailure } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { spentIn, type SpentDetails } from '../../src/core/domain/model/spent.ts';
import type { Spent } from '../../src/core/domain/model/usage.ts';
import { attempt, type AttemptOptions } from '../attempts/attempt.ts';
import type { AbortRegistry } from '../attempts/abort-registry.ts';
import { failingAs, toFailure } from '../failures/failure.ts';
import { fitPartialText } from './fit-response.ts';
import { thrownCode } from '../models/errors/thrown-code.ts';
import { AS_IT_IS, withStack } from '../failures/serializable-failure.ts';
import { SpentAttempts } from './spent-attempts.ts';
import { lastDetails } from '../attempts/waiting-attempt.ts';

/** An activity that asks a model. Where it fails before it comes to that, its failure still says what attempts before have cost. */
export function askingActivity<Input, Output>(work: (input: Input) => Promise<Output>): (input: Input) => Promise<Output> {
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
  return withStack(new ApplicationFailure(message, type, nonRetryable, [details], cause, nextRetryDelay), failure, AS_IT_IS);
}

/** One call to a model. */
export interface Question extends Pick<AttemptOptions, 'heartbeatMs' | 'interruptibleBy'>, Pick<ModelCallContext, 'tags' | 'secret'> {
  client: ModelClient;
  request: ModelRequest;
}

/** How one attempt of a call to a model ended, unless it failed. */
export type Asked<Result> =
  | { type: 'answered'; result: Result; failedAttempts?: Spent }
  /** Given up by the run; without a partial answer nothing had been asked. */
  | { type: 'aborted'; partial?: RecordedResponse };

/**
 * Asks a model once, and gives what `read` makes of the answer. What attempts cost that fail is never lost on the way:
 * this one tells the next, a success names what came before it, and a failure carries the whole in its details.
 */
export async function askModel<Result>(
  aborts: AbortRegistry,
  { client, request, tags, secret, ...options }: Question,
  read: (answer: ModelResponse, signal: AbortSignal) => Result | Promise<Result>,
): Promise<Asked<Result>> {
  const known = { ...(tags === undefined ? {} : { tags }), ...(secret === undefined ? {} : { secret }) };
  const spent = new SpentAttempts(request, lastDetails());
  return attempt(aborts, { ...options, details: () => spent.details }, async (own) => {
    const { signal } = own;
    let isAsked = false;
    let isAnswered = false;
    try {
      signal.throwIfAborted();
      isAsked = true;
      const answer = await client.call(request, { ...known, signal, ...spent.listener });
      isAnswered = true;
      spent.answered(answer);
      return { type: 'answered', result: await read(answer, signal), ...failedAttempts(spent) };
    } catch (error) {
      // An abort by the run's own cancellation is an outcome, not an error: as an error it would race with the
      // server's cancel and be recorded as a failure.
      if (signal.aborted && own.isGivenUp()) return { type: 'aborted', ...partial(spent, isAsked) };
      // The server has what attempts before have cost. What is new goes there with the failure: this beat costs no call of its own.
      if (spent.current !== undefined) own.beat(spent.details);
      if (signal.aborted) throw signal.reason;
      // An answer that cannot be read is not paid for again.
      throw toFailure(error, isAnswered ? 'model_error' : thrownCode(error), { details: spent.details });
    }
  });
}

function failedAttempts({ before }: SpentAttempts): { failedAttempts?: Spent } {
  return before === undefined ? {} : { failedAttempts: before };
}

/** What had arrived of an answer that was given up. It counts wherever something was asked: this time, or before. */
function partial(spent: SpentAttempts, isAsked: boolean): { partial?: RecordedResponse } {
  if (!isAsked && spent.before === undefined) return {};
  const text = fitPartialText(spent.text);
  const content = text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }];
  const usage = isAsked ? spent.usage : { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
  return { partial: { id: randomUUID(), content, finishReason: 'interrupted', usage, ...failedAttempts(spent) } };
}
