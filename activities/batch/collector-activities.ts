import { createHash } from 'node:crypto';
import { activityInfo, asyncLocalStorage, Context, getClient, log } from '@temporalio/activity';
import { ActivityNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { ActivityFunctions } from '../../src/core/activity-requests/contracts.ts';
import {
  type BatchDetails,
  type BatchedCall,
  batchedCallKey,
  type BatchEnd,
  type BatchFailure,
  type BatchView,
  type CompleteBatchOutput,
  type OfBatch,
  type PollBatchInput,
  type PollBatchOutput,
  registrationIn,
  type SubmitBatchOutput,
} from '../../src/core/domain/batch.ts';
import {
  ERROR_CODES,
  type ErrorCode,
  errorCode,
  errorMessage,
  isErrorCode,
  isInstance,
  ModelCallError,
} from '../../src/core/domain/errors.ts';
import { defined, isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import type { Recalled } from '../../src/core/domain/memory.ts';
import { activityDetails, missingIn, uncountedAttemptsIn } from '../../src/core/domain/missing-definitions.ts';
import {
  type BatchContext,
  type BatchItem,
  type BatchResult,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  partsOfModelName,
  refusalDetails,
} from '../../src/core/domain/model.ts';
import { addSpent, costOf, type Spent, spentIn, type UsageStats } from '../../src/core/domain/usage.ts';
import {
  type AskStepInput,
  type AskStepOutput,
  type CallModelInput,
  type CallModelOutput,
  COLLECTOR_QUERIES,
} from '../../src/core/protocol.ts';
import { priceOf } from '../../src/model/models.ts';
import { findExecution } from '../../src/temporal/run-workflow.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { withInside } from '../attempts/attempt-info.ts';
import { failingAs, toFailure } from '../attempts/failure.ts';
import { HeldReports } from '../bursts/call-inside.ts';
import { itemsWithFreshSecrets, withFreshSecrets } from '../fresh-secrets.ts';
import { answerModelCall, type KnownRequest, readyModelCall } from '../model-calls/call-model.ts';
import type { AskedModel } from '../model-calls/fallback.ts';
import { Patience } from '../model-calls/patience.ts';
import { thrownCode } from '../models/errors/error-rules.ts';
import { answerAsk, readyAsk } from '../programs/ask-step.ts';
import { queryHandle } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { requestDigest } from './park-call.ts';
import { type ProviderBatches, WorkerBatches } from './worker-batches.ts';

/** The activities of batch collectors. */
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

/** The calls of a batch that are processed concurrently. */
const AT_ONCE = 16;

/** The number of batches that may fail to answer a call before it fails. */
const MOST_TRIES = 3;

/** Returns the batches of the provider of a model. Throws `unknown_provider` if this worker has none: another worker may. */
function batchesOf({ batches = new WorkerBatches({}, {}) }: ActivityRuntime, model: string): ProviderBatches {
  return batches.of(model);
}

/** Queries the collector for a batch, which is too large for an activity input. */
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
    secret: secrets.reader(),
    ...(tags === undefined ? {} : { tags }),
  };
}

/** Makes the requests of the calls, and submits them as one batch, unless the provider already has it. */
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
    // The attempt may have been abandoned meanwhile, and another one may have submitted the batch.
    signal.throwIfAborted();
    return made.items;
  };
  const named = { key, since: filledAt, items };
  try {
    const context = contextOf(runtime, batch, signal);
    const id = await withFreshSecrets(context.secret, () => client.submit(named, context));
    return { ...made.output, ...(id === undefined ? {} : { id }), policy };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = failureOf(error);
    if (ERROR_CODES[failure.code].retryable) throw error;
    return { ...made.output, failure, policy };
  }
}

/** The calls of a batch whose requests are being made. */
class SubmittedCalls {
  readonly items: BatchItem[] = [];
  readonly #runtime: ActivityRuntime;
  readonly #gone: string[] = [];
  readonly #later: string[] = [];
  readonly #records: Record<string, object[]> = {};

  constructor(runtime: ActivityRuntime) {
    this.#runtime = runtime;
  }

  /** Makes the request of a call, unless its activity no longer waits. */
  async add(pending: PendingCall | undefined, key: string): Promise<void> {
    if (pending === undefined) {
      this.#gone.push(key);
      return;
    }
    // Its attempt has not ended yet: its notes about the call are still to come.
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

  /** A request that can never be made ends its call; after other errors another worker may make it, for the next batch. */
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
  const { id } = batch;
  if (id === undefined) return { hasEnded: true };
  if (input.isOver) await withFreshSecrets(context.secret, () => client.cancel(id, context));
  const { hasEnded, error } = await withFreshSecrets(context.secret, () => client.status(id, context));
  if (hasEnded)
    telemetry?.guarded(() => telemetry.metrics.batchEnded(provider, (Date.now() - (batch.submittedAt ?? batch.filledAt)) / 1_000));
  return { hasEnded, ...(error === undefined ? {} : { failure: failureOf(error) }) };
}

/**
 * Completes the calls of a batch that has ended, by their ids. An attempt after a lost one finds that the completed calls have ended, and
 * completes the others.
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
    const context = contextOf(runtime, batch, signal);
    const results = itemsWithFreshSecrets(context.secret, () => batches.client.results(id, context));
    await eachAtOnce(results, async (result) => {
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

/** Completes the calls of a batch. */
class Completion {
  readonly #runtime: ActivityRuntime;
  readonly #batch: BatchView;
  readonly #batches: ProviderBatches;
  readonly #again: NonNullable<CompleteBatchOutput['again']> = [];
  readonly #later: unknown[] = [];
  /** The held reports of calls that wait for another batch. */
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
        await this.failed(
          pending,
          { code: codeOf(result.error), message: errorMessage(result.error) },
          defined({ mayPass: result.isAdapted }),
        );
        return;
      case 'expired':
        return this.#expired(pending);
    }
  }

  /** Handles a call whose result is not in the batch, because the batch was cancelled or the call was left out of it. */
  async isMissing(pending: PendingCall): Promise<void> {
    const { submittedAt, filledAt, key } = this.#batch;
    if (Date.now() > (submittedAt ?? filledAt) + this.#batches.policy.deadlineMs) return this.#expired(pending);
    await this.failed(pending, { code: 'model_bad_response', message: `Batch "${key}" has no result of the call` });
  }

  /** Handles a call whose run has ended or no longer needs the answer. The provider's work is paid for anyway. */
  isDropped(model: string, result: BatchResult): void {
    if (result.type !== 'answered') return;
    const { usage } = result.answer;
    // Calls that an earlier attempt has completed no longer wait either.
    if (activityInfo().attempt > 1) return;
    const price = usage === null ? undefined : priceOf(model, this.#runtime.prices);
    const dollars = usage === null || price === undefined ? undefined : costOf(usage, price, { inBatch: true });
    const cost =
      usage === null
        ? 'an unknown number of tokens'
        : `${usage.totalTokens} tokens${dollars === undefined ? '' : `, $${dollars.toFixed(6)}`}`;
    log.warn(`An answer of batch "${this.#batch.key}" was dropped, because nothing waits for it any more: it has cost ${cost}`, { model });
    this.#measure(model, { usage, dollars });
  }

  /** Throws if some calls have to be completed by another worker. */
  output(): CompleteBatchOutput {
    const [first] = this.#later;
    if (first !== undefined) throw first;
    // The collector is about to get them: a later attempt would answer the calls once more.
    const reports = this.#reportsOfAgain;
    this.#runtime.telemetry?.telemetry.later(() => {
      for (const held of reports) held.release();
    });
    return this.#again.length === 0 ? {} : { again: this.#again };
  }

  /**
   * Leaves the call to another batch, or fails it after the maximum number of batches. `mayPass`: another batch may help, whatever the code.
   * True: it waits for another batch.
   */
  async failed(
    pending: PendingCall,
    failure: BatchFailure,
    { spent, mayPass = ERROR_CODES[failure.code].retryable }: { spent?: Spent | undefined; mayPass?: boolean } = {},
  ): Promise<boolean> {
    const { call } = pending;
    if (mayPass && (call.tries ?? 0) + 1 < MOST_TRIES) {
      this.#again.push({ key: batchedCallKey(call), ...(spent === undefined ? {} : { spent }) });
      return true;
    }
    await complete(pending, { type: 'failed', ...failure, ...(spent === undefined ? {} : { spent }) });
    return false;
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
      // The worker that answers it later reports it.
      if (isOfWorker) this.#later.push(error);
      else if (isFinal) {
        await complete(pending, { type: 'failed', ...failure, ...(spent === undefined ? {} : { spent }) });
        reports.release();
      } else {
        const isAgain = await this.failed(pending, failure, { spent });
        if (isAgain) this.#reportsOfAgain.push(reports);
        // A later attempt would find that its activity has ended, and report nothing.
        else reports.release();
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

  /** Counts an answer that no run has: it was paid for, and no run's usage has it. */
  #measure(model: string, paid: { usage: UsageStats | null; dollars: number | undefined }): void {
    const { telemetry } = this.#runtime.telemetry ?? {};
    telemetry?.guarded(() => telemetry.metrics.modelCall({ model, seconds: 0, ...paid }));
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

/** The failure of one part of a call. */
interface CallEnd {
  failure: BatchFailure;
  /** No other attempt helps. */
  isFinal: boolean;
  /** This worker cannot do it now; another worker, or this one later, may. */
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

/** Runs `work` for each item, for a few at a time. Rejects with the first error, once all started work has ended. */
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

/** The request of a batched call as it is sent. */
interface BatchedRequest {
  request: ModelRequest;
  /** The notes of capabilities on it, if any. */
  records: object[];
}

/** An answer from a batch. */
interface BatchedAnswer {
  answer: ModelResponse;
  records: object[];
}

/** Makes the request that the call registered; undefined if the request has changed since. */
async function requestOfCall(runtime: ActivityRuntime, pending: PendingCall): Promise<BatchedRequest | undefined> {
  const { call } = pending;
  if (call.activity === 'askStep') {
    const { asked } = await readyAsk(runtime, call.input as AskStepInput, new Patience());
    const { request } = modelIn(asked.models, pending);
    return requestDigest(request) === call.digest ? { request, records: [] } : undefined;
  }
  const { asked, prepared } = await readyModelCall(runtime, call.input as CallModelInput, new Patience(), recalledFor(pending));
  const { name, request } = modelIn(asked.models, pending);
  if (requestDigest(request) !== call.digest) return undefined;
  const sent = await prepared.prepare(name, AbortSignal.timeout(PREPARE_MS));
  return { request: sent, records: Object.keys(prepared.notes).length === 0 ? [] : [prepared.notes] };
}

/** The time limit for making a request, in milliseconds. Its parts have their own limits. */
const PREPARE_MS = 10 * 60_000;

/** Returns the activity output of a call whose answer comes from a batch: the answer is parsed, checked and reviewed like any other. */
async function answerOfBatch(
  runtime: ActivityRuntime,
  pending: PendingCall,
  { answer, records }: BatchedAnswer,
): Promise<CallModelOutput | AskStepOutput> {
  const { call } = pending;
  // The request was paid for with its batch, outside the limits for requests that are sent one by one.
  const ungoverned = { ...runtime, governor: undefined };
  if (call.activity === 'askStep') {
    const ready = await readyAsk(runtime, call.input as AskStepInput, new Patience());
    const models = [answeredWith(answer, modelIn(ready.asked.models, pending))];
    const output = await answerAsk(ungoverned, ready, { models });
    return 'type' in output ? output : { ...output, response: { ...output.response, inBatch: true } };
  }
  const known = { ...recalledFor(pending), notes: (records[0] ?? {}) as NonNullable<KnownRequest['notes']> };
  const ready = await readyModelCall(runtime, call.input as CallModelInput, new Patience(), known);
  const model = modelIn(ready.asked.models, pending);
  const isFirst = model === ready.asked.models[0];
  const output = await answerModelCall(ungoverned, ready, { models: [answeredWith(answer, model)] });
  if (output.type !== 'response') return output;
  return { ...output, response: { ...output.response, ...(isFirst ? {} : { answeredBy: model.name }), inBatch: true } };
}

/** Returns a model that has given its answer. */
function answeredWith(answer: ModelResponse, model: AskedModel): AskedModel {
  const client: ModelClient = { capabilities: model.client.capabilities, call: () => Promise.resolve(answer) };
  return { ...model, client, inBatch: true };
}

function modelIn(models: readonly AskedModel[], { call }: PendingCall): AskedModel {
  const model = models.find(({ name }) => name === call.model);
  if (model === undefined) throw new TypeError(`The call has no model "${call.model}"`);
  return model;
}

function recalledFor({ batch }: PendingCall): { recalled?: Recalled } {
  return batch?.recalled === undefined ? {} : { recalled: batch.recalled as Recalled };
}

/** A batched call whose activity waits. */
interface PendingCall {
  call: BatchedCall;
  /** The details of its last heartbeat. */
  details: JsonObject;
  /** Its attempts' notes about the wait. Absent: no attempt has ended yet, or the call is being made. */
  batch: BatchDetails | undefined;
}

/** The server's state of an activity that is being cancelled: `PENDING_ACTIVITY_STATE_CANCEL_REQUESTED`. */
const IS_CANCELLED = 3;

/** Returns the server's view of the call; undefined if its activity has ended or is cancelled. */
async function pendingCall(call: BatchedCall): Promise<PendingCall | undefined> {
  const client = getClient();
  const found = await findExecution(client, call.workflowId, call.runId);
  const pending = (found?.raw.pendingActivities ?? []).find(({ activityId }) => activityId === call.activityId);
  if (pending === undefined || pending.activityType?.name !== call.activity || pending.state === IS_CANCELLED) return undefined;
  const [given] = await decodeArrayFromPayloads(client.options.loadedDataConverter, pending.heartbeatDetails?.payloads);
  const details = isJsonObject(given) ? given : {};
  return { call, details, batch: registrationIn(details) };
}

/**
 * Runs `work` as part of another activity: a batched call that waits for its next attempt. All code that asks for the current activity gets
 * the call's activity.
 */
function withinCall<Result>({ call, details }: PendingCall, work: () => Promise<Result>): Promise<Result> {
  const host = Context.current();
  const { workflowId, runId, activityId, activity } = call;
  const now = Date.now();
  const known = activityDetails(details);
  const spent = addSpent(spentIn(details), call.spent);
  const noted = { ...(isJsonObject(known) ? known : {}), ...(spent === undefined ? {} : { spent }) };
  const info: Context['info'] = {
    ...host.info,
    activityId,
    activityType: activity,
    // The attempt counts as the first one.
    attempt: 1 + uncountedAttemptsIn(details) + (refusalDetails(details)?.count ?? 0),
    heartbeatDetails: uncountedAttemptsIn(details) === 0 ? noted : { ...details, details: noted },
    workflowExecution: { workflowId, runId },
    scheduledTimestampMs: now,
    currentAttemptScheduledTimestampMs: now,
    retryPolicy: {},
  };
  const { cancelled, cancellationSignal, client, log: hostLog, metricMeter } = host;
  const context = new Context(info, cancelled, cancellationSignal, () => undefined, client, hostLog, metricMeter, {});
  return asyncLocalStorage.run(context, work);
}

/** Returns the provider's id for a call. */
function customId(call: Pick<BatchedCall, 'runId' | 'activityId'>): string {
  return createHash('sha256').update(batchedCallKey(call)).digest('hex').slice(0, 32);
}
