import { activityInfo, getClient, log } from '@temporalio/activity';
import { ActivityNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityFunctions } from '../../src/core/activity-requests/contracts.ts';
import {
  type BatchEnd,
  batchedCallKey,
  type BatchFailure,
  type BatchView,
  type CompleteBatchOutput,
  type OfBatch,
  type PollBatchInput,
  type PollBatchOutput,
  type SubmitBatchOutput,
} from '../../src/core/domain/batch.ts';
import { COLLECTOR_QUERIES } from '../../src/core/protocol-names.ts';
import { partsOfModelName, type BatchContext, type BatchItem, type BatchResult } from '../../src/core/domain/model.ts';
import {
  ERROR_CODES,
  type ErrorCode,
  errorCode,
  errorMessage,
  isErrorCode,
  isInstance,
  ModelCallError,
} from '../../src/core/domain/errors.ts';
import { missingIn } from '../../src/core/domain/missing-definitions.ts';
import type { AskStepOutput, CallModelOutput } from '../../src/core/protocol.ts';
import { costOf, type Spent, spentIn, type UsageStats } from '../../src/core/domain/usage.ts';
import { priceOf } from '../../src/model/models.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { withInside } from '../attempts/attempt-info.ts';
import { failingAs, toFailure } from '../attempts/failure.ts';
import { HeldReports } from '../bursts/held-reports.ts';
import { thrownCode } from '../models/errors/error-rules.ts';
import { queryHandle } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { answerOfBatch, requestOfCall } from './batched-request.ts';
import { customId, pendingCall, type PendingCall, withinCall } from './pending-call.ts';
import { type ProviderBatches, WorkerBatches } from './worker-batches.ts';

/** The activities of the collectors of batches. */
export function batchActivities(runtime: ActivityRuntime): Pick<ActivityFunctions, 'submitBatch' | 'pollBatch' | 'completeBatch'> {
  const { aborts, heartbeatMs } = runtime;
  const guarded = <Input, Output>(work: (input: Input, signal: AbortSignal) => Promise<Output>) =>
    failingAs<Input, Output>('model_error', (input) => runAttempt(aborts, { heartbeatMs }, ({ signal }) => work(input, signal)));
  return {
    submitBatch: guarded((input, signal) => submitBatch(runtime, input, signal)),
    pollBatch: guarded((input, signal) => pollBatch(runtime, input, signal)),
    completeBatch: guarded((input, signal) => completeBatch(runtime, input, signal)),
  };
}

/** The calls of a batch that are worked on at a time. */
const AT_ONCE = 16;

/** The number of batches that may fail to answer a call, before it fails. */
const MOST_TRIES = 3;

/** Returns the batches of the provider of a model. Throws `unknown_provider` if this worker has none: another one may. */
function batchesOf({ batches = new WorkerBatches({}, {}) }: ActivityRuntime, model: string): ProviderBatches {
  return batches.of(model);
}

/** Asks the collector for a batch: it is too large for the input of an activity. */
async function batchOf(seq: number): Promise<BatchView> {
  const { workflowExecution: { workflowId = '', runId = '' } = {}, activityId } = activityInfo();
  const handle = getClient().workflow.getHandle(workflowId, runId);
  return queryHandle(COLLECTOR_QUERIES.batch, () =>
    handle.query<BatchView, [number, { activityId: string }]>(COLLECTOR_QUERIES.batch, seq, { activityId }),
  );
}

function contextOf({ secrets }: ActivityRuntime, { calls }: BatchView, signal: AbortSignal): BatchContext {
  const { tags, model = '' } = calls[0] ?? {};
  return {
    model: partsOfModelName(model).id,
    signal,
    secret: (name) => secrets.resolve(name),
    ...(tags === undefined ? {} : { tags }),
  };
}

/** Makes the requests of the calls, and submits them as one batch, unless the provider has it already. */
async function submitBatch(runtime: ActivityRuntime, { seq }: OfBatch, signal: AbortSignal): Promise<SubmitBatchOutput> {
  const batch = await batchOf(seq);
  const { key, calls, filledAt } = batch;
  const model = calls[0]?.model ?? '';
  const { client, policy } = batchesOf(runtime, model);
  const made = new SubmittedCalls(runtime);
  const items = async (): Promise<BatchItem[]> => {
    await eachAtOnce(calls, async (call) => {
      signal.throwIfAborted();
      await made.add(await pendingCall(call), batchedCallKey(call));
    });
    // The attempt may have been given up meanwhile, and another one have submitted the batch.
    signal.throwIfAborted();
    return made.items;
  };
  const named = { key, since: filledAt, items };
  try {
    const id = await client.submit(named, contextOf(runtime, batch, signal));
    return { ...made.output, ...(id === undefined ? {} : { id }), policy };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = failureOf(error);
    if (ERROR_CODES[failure.code].retryable) throw error;
    return { ...made.output, failure, policy };
  }
}

/** The calls of a batch whose requests are made. */
class SubmittedCalls {
  readonly items: BatchItem[] = [];
  readonly #runtime: ActivityRuntime;
  readonly #gone: string[] = [];
  readonly #later: string[] = [];
  readonly #records: Record<string, object[]> = {};

  constructor(runtime: ActivityRuntime) {
    this.#runtime = runtime;
  }

  /** Makes the request of a call, unless its activity waits no more. */
  async add(pending: PendingCall | undefined, key: string): Promise<void> {
    if (pending === undefined) {
      this.#gone.push(key);
      return;
    }
    // Its attempt has not ended so far: what it notes about the call is still to come.
    if (pending.batch === undefined) {
      this.#later.push(key);
      return;
    }
    try {
      const made = await withinCall(pending, () => requestOfCall(this.#runtime, pending));
      if (made === undefined) {
        log.warn(`The request of a call for a batch is another one than the call has registered: it registers again`, { call: key });
        this.#gone.push(key);
        return;
      }
      if (made.records.length > 0) this.#records[key] = made.records;
      this.items.push({ id: customId(pending.call), request: made.request });
    } catch (error) {
      await this.#failed(pending, key, error);
    }
  }

  get output(): Pick<SubmitBatchOutput, 'gone' | 'later' | 'records'> {
    return {
      ...(this.#gone.length === 0 ? {} : { gone: this.#gone }),
      ...(this.#later.length === 0 ? {} : { later: this.#later }),
      ...(Object.keys(this.#records).length === 0 ? {} : { records: this.#records }),
    };
  }

  /** A request that can never be made ends its call; any other may be made by another worker, for the next batch. */
  async #failed(pending: PendingCall, key: string, error: unknown): Promise<void> {
    const { isFinal, failure } = endOf(error);
    if (!isFinal) {
      log.warn(`The request of a call for a batch cannot be made now: ${failure.message}`, { call: key });
      this.#later.push(key);
      return;
    }
    await complete(pending, { type: 'failed', ...failure });
    this.#gone.push(key);
  }
}

async function pollBatch(runtime: ActivityRuntime, input: PollBatchInput, signal: AbortSignal): Promise<PollBatchOutput> {
  const batch = await batchOf(input.seq);
  const { client, provider } = batchesOf(runtime, batch.calls[0]?.model ?? '');
  const context = contextOf(runtime, batch, signal);
  const { telemetry } = runtime.telemetry ?? {};
  telemetry?.guarded(() => telemetry.metrics.batches(provider, { waiting: input.waiting, open: input.filled }));
  if (batch.id === undefined) return { hasEnded: true };
  if (input.isOver) await client.cancel(batch.id, context);
  const { hasEnded, error } = await client.status(batch.id, context);
  if (hasEnded)
    telemetry?.guarded(() => telemetry.metrics.batchEnded(provider, (Date.now() - (batch.submittedAt ?? batch.filledAt)) / 1_000));
  return { hasEnded, ...(error === undefined ? {} : { failure: failureOf(error) }) };
}

/**
 * Completes the calls of a batch that has ended, by their ids. An attempt that follows one which was lost finds the calls that are
 * complete gone, and completes the others.
 */
async function completeBatch(runtime: ActivityRuntime, { seq }: OfBatch, signal: AbortSignal): Promise<CompleteBatchOutput> {
  const batch = await batchOf(seq);
  const { calls, failure, id } = batch;
  const batches = batchesOf(runtime, calls[0]?.model ?? '');
  const open = new Map(calls.map((call) => [customId(call), call]));
  const completion = new Completion(runtime, batch, batches);
  if (failure !== undefined) {
    await eachAtOnce(calls, async (call) => {
      const pending = await pendingCall(call);
      if (pending !== undefined) await completion.failed(pending, failure);
    });
  } else if (id !== undefined) {
    await eachAtOnce(batches.client.results(id, contextOf(runtime, batch, signal)), async (result) => {
      signal.throwIfAborted();
      const call = open.get(result.id);
      // A provider may repeat a result.
      if (call === undefined || !open.delete(result.id)) return;
      const pending = await pendingCall(call);
      if (pending === undefined) completion.isDropped(call.model, result);
      else await completion.complete(pending, result);
    });
    await eachAtOnce(open.values(), async (call) => {
      const pending = await pendingCall(call);
      if (pending !== undefined) await completion.isMissing(pending);
    });
  }
  return completion.output();
}

/** The calls of a batch as they are completed. */
class Completion {
  readonly #runtime: ActivityRuntime;
  readonly #batch: BatchView;
  readonly #batches: ProviderBatches;
  readonly #again: NonNullable<CompleteBatchOutput['again']> = [];
  readonly #later: unknown[] = [];
  /** What the calls report of themselves that wait for another batch. */
  readonly #reportsOfAgain: HeldReports[] = [];

  constructor(runtime: ActivityRuntime, batch: BatchView, batches: ProviderBatches) {
    this.#runtime = runtime;
    this.#batch = batch;
    this.#batches = batches;
  }

  async complete(pending: PendingCall, result: BatchResult): Promise<void> {
    switch (result.type) {
      case 'answered':
        return this.#answered(pending, result.answer);
      case 'failed':
        return this.failed(pending, { code: codeOf(result.error), message: errorMessage(result.error) });
      case 'expired':
        return this.#expired(pending);
    }
  }

  /** A call whose result is not in the batch, as of a batch that was cancelled, or because it was left out when the batch was submitted. */
  async isMissing(pending: PendingCall): Promise<void> {
    const { submittedAt, filledAt, key } = this.#batch;
    if (Date.now() > (submittedAt ?? filledAt) + this.#batches.policy.deadlineMs) return this.#expired(pending);
    return this.failed(pending, { code: 'model_bad_response', message: `Batch "${key}" has no result of the call` });
  }

  /** The run has ended, or does without the answer. What the provider has done is paid for nevertheless. */
  isDropped(model: string, result: BatchResult): void {
    if (result.type !== 'answered') return;
    const { usage } = result.answer;
    // The calls that an attempt before this one has completed wait no more, either.
    if (activityInfo().attempt > 1) return;
    const price = usage === null ? undefined : priceOf(model, this.#runtime.prices);
    const dollars = usage === null || price === undefined ? undefined : costOf(usage, price, { inBatch: true });
    const cost =
      usage === null
        ? 'an unknown number of tokens'
        : `${usage.totalTokens} tokens${dollars === undefined ? '' : `, $${dollars.toFixed(6)}`}`;
    log.warn(`An answer of batch "${this.#batch.key}" was dropped, because nothing waits for it any more: it has cost ${cost}`, { model });
    this.#measure(model, usage);
  }

  /** Throws if some calls have to be completed by another worker. */
  output(): CompleteBatchOutput {
    const [first] = this.#later;
    if (first !== undefined) throw first;
    // The collector is about to have them: an attempt after this one would answer the calls once more.
    const reports = this.#reportsOfAgain;
    this.#runtime.telemetry?.telemetry.later(() => {
      for (const held of reports) held.release();
    });
    return this.#again.length === 0 ? {} : { again: this.#again };
  }

  async failed(pending: PendingCall, failure: BatchFailure, spent?: Spent): Promise<void> {
    const { call } = pending;
    if (ERROR_CODES[failure.code].retryable && (call.tries ?? 0) + 1 < MOST_TRIES) {
      this.#again.push({ key: batchedCallKey(call), ...(spent === undefined ? {} : { spent }) });
      return;
    }
    await complete(pending, { type: 'failed', ...failure, ...(spent === undefined ? {} : { spent }) });
  }

  async #answered(pending: PendingCall, answer: Extract<BatchResult, { type: 'answered' }>['answer']): Promise<void> {
    const { call } = pending;
    const records = this.#batch.records?.[batchedCallKey(call)] ?? [];
    const reports = new HeldReports();
    const inside = { isRetry: true, earlier: call.tries ?? 0, whenStored: (report: () => void) => reports.add(report) };
    try {
      const answered = (): Promise<CallModelOutput | AskStepOutput> => answerOfBatch(this.#runtime, pending, { answer, records });
      const output = await withinCall(pending, () => withInside(inside, answered));
      if ('type' in output && output.type === 'aborted') this.isDropped(call.model, { id: '', type: 'answered', answer });
      else await complete(pending, output);
      reports.release();
    } catch (error) {
      const { isFinal, failure, isOfWorker, spent } = endOf(error);
      // The worker that answers it after this one reports it.
      if (isOfWorker) this.#later.push(error);
      else if (isFinal) {
        await complete(pending, { type: 'failed', ...failure, ...(spent === undefined ? {} : { spent }) });
        reports.release();
      } else {
        await this.failed(pending, failure, spent);
        this.#reportsOfAgain.push(reports);
      }
    }
  }

  async #expired(pending: PendingCall): Promise<void> {
    switch (this.#batches.policy.onExpired) {
      case 'interactive':
        return complete(pending, { type: 'unbatched' });
      case 'retry':
        this.#again.push({ key: batchedCallKey(pending.call) });
        return;
      case 'fail':
        return complete(pending, {
          type: 'failed',
          code: 'model_timeout',
          message: `Batch "${this.#batch.key}" expired before model "${pending.call.model}" answered`,
        });
    }
  }

  #measure(model: string, usage: UsageStats | null): void {
    const { telemetry } = this.#runtime.telemetry ?? {};
    telemetry?.guarded(() => telemetry.metrics.modelCall({ model, seconds: 0, usage }));
  }
}

/** Completes the activity of a call with its output. Does nothing if the activity has ended meanwhile. */
async function complete({ call }: PendingCall, output: CallModelOutput | AskStepOutput | BatchEnd): Promise<void> {
  const { workflowId, runId, activityId } = call;
  try {
    await getClient().activity.complete({ workflowId, runId, activityId }, output);
  } catch (error) {
    if (!isInstance(error, ActivityNotFoundError)) throw error;
  }
}

/** The failure of a part of a call. */
interface CallEnd {
  failure: BatchFailure;
  /** No other attempt helps. */
  isFinal: boolean;
  /** This worker cannot do it now; another one, or the same one later, may. */
  isOfWorker: boolean;
  spent: Spent | undefined;
}

function endOf(error: unknown): CallEnd {
  const failure = toFailure(error, 'model_error');
  const details: unknown = failure instanceof ApplicationFailure ? failure.details?.[0] : undefined;
  const code = failure instanceof ApplicationFailure && isErrorCode(failure.type) ? failure.type : 'model_error';
  const isOfWorker =
    !(failure instanceof ApplicationFailure) ||
    missingIn(details) !== undefined ||
    code === 'transcript_unavailable' ||
    code === 'internal';
  return {
    failure: { code, message: failure.message },
    isFinal: failure instanceof ApplicationFailure && failure.nonRetryable === true && !isOfWorker,
    isOfWorker,
    spent: spentIn(details),
  };
}

function failureOf(error: unknown): BatchFailure {
  return { code: codeOf(error), message: errorMessage(error) };
}

function codeOf(error: unknown): ErrorCode {
  return errorCode(error) ?? (error instanceof ModelCallError ? error.code : thrownCode(error));
}

/** Does work for each item, for some of them at a time. Rejects with the first error, once the work that has begun has ended. */
async function eachAtOnce<Item>(items: Iterable<Item> | AsyncIterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>();
  const errors: unknown[] = [];
  for await (const item of items) {
    const working: Promise<void> = work(item)
      .catch((error: unknown) => void errors.push(error))
      .finally(() => running.delete(working));
    running.add(working);
    if (running.size >= AT_ONCE) await Promise.race(running);
    if (errors.length > 0) break;
  }
  await Promise.all(running);
  if (errors.length > 0) throw errors[0];
}
