import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import {
  ActivityCancellationType,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  log,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActivityFunctions } from '../src/core/activity-requests/contracts.ts';
import {
  type BatchedCall,
  batchedCallKey,
  type BatchFailure,
  type BatchView,
  type CallPlace,
  type CollectorInput,
  type FilledBatch,
  REGISTERED_CALL,
  type WaitingCall,
} from '../src/core/domain/batch.ts';
import { COLLECTOR_QUERIES, COLLECTOR_SIGNALS } from '../src/core/protocol.ts';
import { jsonBytes } from '../src/core/domain/byte-budgets.ts';
import { errorMessage, isErrorCode } from '../src/core/domain/errors.ts';
import { inboundProblem, isJsonObject, whyUnreadable } from '../src/core/domain/json.ts';
import { checkJson } from '../src/core/json-schema/check-json-schema.ts';
import { HEARTBEAT_TIMEOUT } from '../src/core/activity-requests/activity-request.ts';

/** Retried until they succeed: the waiting calls have separate deadlines. */
const { submitBatch, pollBatch, completeBatch } = proxyActivities<Pick<ActivityFunctions, 'submitBatch' | 'pollBatch' | 'completeBatch'>>({
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** The most bytes of calls that a collector keeps, and of one of them: continue-as-new passes them on in one payload. */
const MOST_BYTES = 1_400_000;
const MOST_CALL_BYTES = 100_000;

/** The events of an execution after which the collector continues as new. */
const MOST_EVENTS = 4_000;

/** The waits between two polls, doubled each time. */
const POLL_MS = { least: 250, first: 30_000, longest: 300_000 };

/** The waits after an activity of a batch has failed permanently, doubled each time. Another worker may be available by then. */
const AFTER_FAILURE_MS = { first: 60_000, longest: 30 * 60_000 };

/** Consecutive failures after which a defect ends a batch. Something that workers lack may still appear until the deadline. */
const MOST_FAILURES = 5;

const register = defineSignal<[unknown]>(COLLECTOR_SIGNALS.register);
const batchQuery = defineQuery<BatchView, [number]>(COLLECTOR_QUERIES.batch);
const callsQuery = defineQuery<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls);

/**
 * Collects the model calls of one provider into batches: fills a batch by time or size, submits it, polls it, and completes its calls
 * by id, through activities. It only keeps references to calls, and continues as new.
 */
export async function batchCollector(input: CollectorInput): Promise<void> {
  requireInput(input);
  const collector = new Collector(input);
  setHandler(register, (call) => collector.add(call));
  setHandler(batchQuery, (seq) => collector.view(seq));
  setHandler(callsQuery, (keys) => collector.placesOf(keys));
  await collector.collect();
  await condition(allHandlersFinished);
  await continueAsNew<typeof batchCollector>(collector.state);
}

class Collector {
  readonly #input: CollectorInput;
  #waiting: WaitingCall[];
  readonly #filled: FilledBatch[];
  readonly #known = new Set<string>();
  #bytes = 0;
  #seq: number;
  #policy: CollectorInput['policy'];
  /** The number of batch activities in progress: the execution does not end before they do. */
  #inProgress = 0;

  constructor(input: CollectorInput) {
    this.#input = input;
    this.#policy = input.policy;
    this.#seq = input.seq ?? 0;
    this.#waiting = [...(input.waiting ?? [])];
    this.#filled = [...(input.filled ?? [])];
    for (const { call } of this.#waiting) this.#note(call);
    for (const { calls } of this.#filled) for (const call of calls) this.#note(call);
  }

  /** Takes a call, unless it is known or the collector is full, in which case its next attempt retries. Ignores anything else. */
  add(sent: unknown): void {
    const call = registeredCall(sent);
    if (call === undefined || this.#known.has(batchedCallKey(call)) || this.#isFull) return;
    this.#note(call);
    this.#waiting.push({ call, since: Date.now() });
  }

  /** Fills batches, and follows each until its calls are complete. Returns once the execution has to end. */
  async collect(): Promise<void> {
    for (const batch of this.#filled) this.#begin(batch);
    while (!this.#mustContinue) {
      const dueAt = this.#nextDueAt;
      if (dueAt === undefined) await condition(() => this.#waiting.length > 0 || this.#mustContinue);
      else if (dueAt > Date.now()) await condition(() => this.#fullGroup !== undefined || this.#mustContinue, dueAt - Date.now());
      this.#fill();
    }
    await condition(() => this.#inProgress === 0);
  }

  /** The input of the next execution. */
  get state(): CollectorInput {
    const first = this.#first;
    return { ...this.#input, policy: this.#policy, seq: this.#seq, first, waiting: this.#waiting, filled: this.#filled };
  }

  view(seq: number): BatchView {
    const batch = this.#filled.find((one) => one.seq === seq);
    if (batch === undefined) throw new TypeError(`The collector has no batch ${seq}`);
    return { ...batch, provider: this.#input.provider, policy: this.#policy, key: `${workflowInfo().workflowId}/${this.#first}-${seq}` };
  }

  placesOf(keys: readonly string[]): CallPlace[] {
    const places = new Map<string, CallPlace>();
    for (const { call, since } of this.#waiting) places.set(batchedCallKey(call), { state: 'waiting', since });
    for (const { calls, seq, id, submittedAt, filledAt } of this.#filled) {
      const place: CallPlace = { state: 'in_batch', since: submittedAt ?? filledAt, seq, ...(id === undefined ? {} : { id }) };
      for (const call of calls) places.set(batchedCallKey(call), place);
    }
    return keys.map((key) => places.get(key) ?? { state: 'unknown', isFull: this.#isFull });
  }

  /** Distinguishes this collector's batches from those of another collector with the same id. */
  get #first(): string {
    return this.#input.first ?? workflowInfo().firstExecutionRunId.slice(0, 8);
  }

  get #isFull(): boolean {
    return this.#bytes > MOST_BYTES;
  }

  get #mustContinue(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength > MOST_EVENTS;
  }

  /** The time at which the first call has waited for the whole window. */
  get #nextDueAt(): number | undefined {
    const [first] = this.#waiting;
    return first === undefined ? undefined : this.#fullGroup === undefined ? first.since + this.#policy.windowMs : 0;
  }

  /** The first group of calls that fill a batch. */
  get #fullGroup(): string | undefined {
    const sizes = new Map<string, { calls: number; bytes: number }>();
    const { most, mostBytes } = this.#policy;
    for (const { call } of this.#waiting) {
      const group = groupOf(call);
      const { calls, bytes } = sizes.get(group) ?? { calls: 0, bytes: 0 };
      const size = { calls: calls + 1, bytes: bytes + call.bytes };
      if (size.calls >= most || size.bytes >= mostBytes) return group;
      sizes.set(group, size);
    }
    return undefined;
  }

  #note(call: BatchedCall): void {
    this.#known.add(batchedCallKey(call));
    this.#bytes += jsonBytes(call);
  }

  #forget(call: BatchedCall): void {
    if (this.#known.delete(batchedCallKey(call))) this.#bytes -= jsonBytes(call);
  }

  /** Makes batches of groups that fill one, and of groups in which a call has waited for the whole window. */
  #fill(): void {
    for (;;) {
      const group = this.#fullGroup ?? this.#dueGroup;
      if (group === undefined) return;
      const calls = this.#take(group);
      const batch: FilledBatch = { seq: this.#seq, calls, filledAt: Date.now() };
      this.#seq += 1;
      this.#filled.push(batch);
      this.#begin(batch);
    }
  }

  get #dueGroup(): string | undefined {
    const due = this.#waiting.find(({ since }) => since + this.#policy.windowMs <= Date.now());
    return due === undefined ? undefined : groupOf(due.call);
  }

  /** Takes the calls of a group that fit into one batch, oldest first. */
  #take(group: string): BatchedCall[] {
    const taken: BatchedCall[] = [];
    let bytes = 0;
    const { most, mostBytes } = this.#policy;
    for (const { call } of this.#waiting) {
      if (groupOf(call) !== group) continue;
      if (taken.length > 0 && (taken.length >= most || bytes + call.bytes > mostBytes)) break;
      bytes += call.bytes;
      taken.push(call);
    }
    const keys = new Set(taken.map(batchedCallKey));
    this.#waiting = this.#waiting.filter(({ call }) => !keys.has(batchedCallKey(call)));
    return taken;
  }

  /** Follows a batch in the background, and starts over if that fails. */
  #begin(batch: FilledBatch): void {
    this.#follow(batch).catch(async (error: unknown) => {
      if (CancellationScope.current().consideredCancelled) return;
      const failures = (batch.failures ?? 0) + 1;
      batch.failures = failures;
      if (this.#isLost(batch, error)) return this.#giveUp(batch, error);
      await sleep(this.#afterFailureMs(failures), { summary: `after a failure of batch ${batch.seq}` }).catch(() => undefined);
      if (!this.#mustContinue) this.#begin(batch);
    });
  }

  #afterFailureMs(failures: number): number {
    const first = Math.min(AFTER_FAILURE_MS.first, Math.max(POLL_MS.least, this.#policy.windowMs));
    return Math.min(AFTER_FAILURE_MS.longest, first * 2 ** (failures - 1));
  }

  /** True if a batch whose activities fail should be given up. */
  #isLost({ failures = 0, submittedAt, filledAt }: FilledBatch, error: unknown): boolean {
    if (failures < MOST_FAILURES) return false;
    return failureIn(error).code === 'internal' || Date.now() > (submittedAt ?? filledAt) + this.#policy.deadlineMs;
  }

  /** Ends the calls of a batch with the failure. If that fails too, leaves them: each registers again with its next attempt. */
  #giveUp(batch: FilledBatch, error: unknown): void {
    const failure = failureIn(error);
    log.error(`Batch ${batch.seq} is given up: ${failure.message}`, { calls: batch.calls.length, id: batch.id });
    if (batch.failure !== undefined) return this.#end(batch);
    Object.assign(batch, { failure, failures: 0 });
    this.#begin(batch);
  }

  async #follow(batch: FilledBatch): Promise<void> {
    const { seq } = batch;
    if (batch.id === undefined && batch.failure === undefined) {
      const { id, gone = [], later = [], records, failure, policy } = await this.#during(batch, () => submitBatch({ seq }));
      this.#policy = policy;
      this.#leaveOut(batch, gone);
      this.#retry(
        batch,
        later.map((key) => ({ key, isNew: true as const })),
      );
      Object.assign(batch, { submittedAt: Date.now(), ...(records === undefined ? {} : { records }) });
      if (id !== undefined) batch.id = id;
      else if (failure !== undefined) batch.failure = failure;
      if (batch.calls.length === 0 || (id === undefined && failure === undefined)) return this.#end(batch);
    }
    for (let wait = this.#firstPollMs; batch.failure === undefined && !batch.hasEnded; wait = this.#nextPollMs(wait)) {
      await condition(() => this.#mustContinue, wait);
      if (this.#mustContinue) return;
      const isOver = Date.now() > (batch.submittedAt ?? batch.filledAt) + this.#policy.deadlineMs;
      const { hasEnded, failure } = await this.#during(batch, () => pollBatch({ seq, ...(isOver ? { isOver } : {}), ...this.#amounts }));
      if (hasEnded) batch.hasEnded = true;
      if (failure !== undefined) batch.failure = failure;
    }
    if (this.#mustContinue) return;
    const { again = [] } = await this.#during(batch, () => completeBatch({ seq }));
    this.#retry(batch, again);
    this.#end(batch);
  }

  get #firstPollMs(): number {
    return Math.max(POLL_MS.least, Math.min(POLL_MS.first, this.#policy.windowMs / 10));
  }

  #nextPollMs(wait: number): number {
    return Math.min(wait * 2, Math.max(POLL_MS.least, Math.min(POLL_MS.longest, this.#policy.windowMs)));
  }

  get #amounts(): { waiting: number; filled: number; oldestMs: number } {
    const oldest = Math.min(Date.now(), ...this.#filled.map(({ submittedAt, filledAt }) => submittedAt ?? filledAt));
    return { waiting: this.#waiting.length, filled: this.#filled.length, oldestMs: Date.now() - oldest };
  }

  /** Waits for an activity of a batch. Only consecutive failures count: a batch that is followed for a day may have occasional ones. */
  async #during<Output>(batch: FilledBatch, work: () => Promise<Output>): Promise<Output> {
    this.#inProgress += 1;
    try {
      const output = await work();
      const why = whyUnreadable(output);
      if (why !== undefined) throw new TypeError(`The result of an activity of batch ${batch.seq} cannot be read: ${why}`);
      delete batch.failures;
      return output;
    } finally {
      this.#inProgress -= 1;
    }
  }

  #leaveOut(batch: FilledBatch, keys: readonly string[]): void {
    const left = new Set(keys);
    for (const call of batch.calls) if (left.has(batchedCallKey(call))) this.#forget(call);
    batch.calls = batch.calls.filter((call) => !left.has(batchedCallKey(call)));
  }

  /** Returns calls of a batch to the queue for the next one. */
  #retry(batch: FilledBatch, again: readonly { key: string; spent?: BatchedCall['spent']; isNew?: true }[]): void {
    const byKey = new Map(again.map((one) => [one.key, one]));
    const left: BatchedCall[] = [];
    for (const call of batch.calls) {
      const one = byKey.get(batchedCallKey(call));
      if (one === undefined) left.push(call);
      else {
        this.#forget(call);
        const { tries = 0, ...same } = call;
        const next = {
          ...same,
          ...(one.isNew && tries === 0 ? {} : { tries: tries + (one.isNew ? 0 : 1) }),
          ...(one.spent === undefined ? {} : { spent: one.spent }),
        };
        this.#note(next);
        this.#waiting.push({ call: next, since: Date.now() });
      }
    }
    batch.calls = left;
  }

  #end(batch: FilledBatch): void {
    for (const call of batch.calls) this.#forget(call);
    const index = this.#filled.indexOf(batch);
    if (index >= 0) this.#filled.splice(index, 1);
  }
}

/** Returns the group of a call: the calls of a batch have the same model and the same provider key. */
function groupOf({ model, tags = [] }: BatchedCall): string {
  return [model, ...tags].join('\n');
}

/** Returns the failure of an activity. */
function failureIn(error: unknown): BatchFailure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const code = cause instanceof ApplicationFailure && isErrorCode(cause.type) ? cause.type : 'internal';
  return { code, message: errorMessage(cause) };
}

/** Returns the call in a Signal, or undefined if there is none: anybody can send a Signal. */
function registeredCall(sent: unknown): BatchedCall | undefined {
  if (inboundProblem(sent) !== undefined || jsonBytes(sent) > MOST_CALL_BYTES || checkJson(REGISTERED_CALL, sent).length > 0)
    return undefined;
  const { workflowId, runId, activityId, activity, model, digest, bytes, input, tags } = sent as BatchedCall;
  return { workflowId, runId, activityId, activity, model, digest, bytes, input, ...(tags === undefined ? {} : { tags }) };
}

/** Throws for a start that is not a collector's: it ends, and the next call starts another one. */
function requireInput(input: unknown): void {
  const { provider, policy } = isJsonObject(input) ? input : {};
  const { windowMs, deadlineMs } = isJsonObject(policy) ? policy : {};
  if (typeof provider === 'string' && typeof windowMs === 'number' && typeof deadlineMs === 'number') return;
  const message = 'A collector of batches is started by calls, with {"provider", "policy"}, and not by other callers';
  throw ApplicationFailure.create({ type: 'invalid_input', message, nonRetryable: true });
}
