import {
  ActivityCancellationDetails,
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  CompleteAsyncError,
  defaultFailureConverter,
  defaultPayloadConverter,
  ensureApplicationFailure,
  type ProtoFailure,
  type RetryPolicy,
  type RetryState,
  type TemporalFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { type Activities, createActivities, DEFAULT } from '../../../activities/create-activities.ts';
import { createRuntime, type RuntimeOptions } from '../../../activities/create-runtime.ts';
import { checkExecutors } from '../../../activities/executors/create-executor.ts';
import type { ActivityRuntime } from '../../../activities/runtime.ts';
import type { ActivityRequest, PerformActivity } from '../../core/activity-requests/activity-request.ts';
import { isAwaited } from '../harness/harness.ts';
import type { VirtualTime } from './virtual-time.ts';
import { defined } from '../../core/domain/json.ts';
import { within } from '../../streams/waits.ts';
import { realSleep } from '../../temporal/real-timers.ts';

/** The converter of a run in memory, whose values are not encoded. */
const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** The part of a worker that a run in memory needs: its activities, and their shared runtime. */
export class MemoryWorker {
  readonly runtime: ActivityRuntime;
  readonly #activities: Activities;

  private constructor(runtime: ActivityRuntime) {
    this.runtime = runtime;
    this.#activities = createActivities(runtime);
  }

  /** Opens a worker and its resources. Throws the errors of a worker that cannot be created. */
  static async open(options: RuntimeOptions): Promise<MemoryWorker> {
    const runtime = createRuntime(options, {
      log: () => undefined,
      upgradeOnContinueAsNew: false,
      batches: false,
      searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    });
    const worker = new MemoryWorker(runtime);
    await checkExecutors(runtime.registry.agents);
    await runtime.resourcePool.open();
    runtime.mcp.start();
    runtime.streams?.open('default', CONVERTER);
    return worker;
  }

  /** Returns the activity with this name. Throws if a worker would not find it. */
  activity(name: string): (input: unknown) => Promise<unknown> {
    const activity = this.#activities[name] ?? this.#activities[DEFAULT];
    if (activity === undefined) throw new Error(`Activity function ${name} is not registered on this Worker`);
    return (input) => activity(input as never);
  }

  async close(): Promise<void> {
    const { resourcePool, mcp, namespaces, streams } = this.runtime;
    await Promise.all([resourcePool.close(), mcp.close(), namespaces.close(), streams?.close()]);
  }
}

/** The time that abandoned calls may take to end, in real milliseconds. */
const GRACE_MS = 500;

/** Performs the activities of a run in memory, in place of Temporal, and can cancel them. */
export class MemoryActivities {
  readonly #host: ActivityHost;
  readonly #running = new Set<ScheduledActivity<unknown, unknown>>();
  readonly #attempts = new Set<Promise<unknown>>();
  #count = 0;
  #isCancelled = false;

  constructor(host: ActivityHost) {
    this.#host = host;
  }

  /** Performs an activity and returns its outcome. */
  readonly perform: PerformActivity = (call) => this.begin(call).ended;

  /** As `perform`, for an activity that is not cancelled with the run. */
  readonly performAnyway: PerformActivity = (call) => this.#ended(this.#schedule(call), call);

  /** Starts an activity. Also returns functions that cancel only this activity, and that return its last heartbeat details. */
  begin<Input, Output, Outcome>(
    call: ActivityRequest<Input, Output, Outcome>,
  ): { ended: Promise<Outcome>; cancel: () => void; stored: () => unknown } {
    const activity = this.#schedule(call);
    // A cancelled run starts nothing more.
    if (this.#isCancelled) activity.cancel();
    return { ended: this.#ended(activity, call), cancel: () => activity.cancel(), stored: () => activity.stored };
  }

  /** Cancels the run and all running activities. */
  cancel(): void {
    this.#isCancelled = true;
    for (const activity of this.#running) activity.cancel();
  }

  /** Cancels all running activities of a turn. The session continues. */
  interrupt(): void {
    for (const activity of this.#running) activity.cancel();
  }

  /** Stores the details of a heartbeat that an attempt has sent itself. */
  heartbeat(token: string, details: unknown): { cancelRequested: boolean } {
    const stored = [...this.#running].map((activity) => activity.heartbeat(token, details)).find((one) => one !== undefined);
    if (stored === undefined) throw new Error(`No attempt "${token}" is running`);
    return stored;
  }

  /** Ends all running activities, because their worker has died. */
  workerDied(): void {
    for (const activity of this.#running) activity.workerDied();
  }

  /** True if an activity is in progress that decisions of the test wait for, also between two of its attempts. */
  get isBusy(): boolean {
    return [...this.#running].some(({ name }) => isAwaited(name));
  }

  /**
   * Waits until nothing is running, for a short time at most: a tool that ignores its signal must not hold up the
   * test.
   */
  async settled(): Promise<void> {
    await within(GRACE_MS, Promise.allSettled(this.#attempts), () => new Error('late')).catch(() => undefined);
  }

  #schedule<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): ScheduledActivity<Input, Output> {
    return new ScheduledActivity<Input, Output>(String(++this.#count), call, this.#host);
  }

  async #ended<Input, Output, Outcome>(
    activity: ScheduledActivity<Input, Output>,
    { returned, failed }: ActivityRequest<Input, Output, Outcome>,
  ): Promise<Outcome> {
    // Added before it starts, because its worker may die at that moment.
    this.#running.add(activity);
    const { outcome, attempts } = activity.run();
    const ended = attempts.catch(() => undefined);
    this.#attempts.add(ended);
    void ended.then(() => this.#attempts.delete(ended));
    try {
      return await outcome.then(returned, failed);
    } finally {
      this.#running.delete(activity);
      this.#host.time.changed();
    }
  }
}

type EnvironmentArguments = ConstructorParameters<typeof MockActivityEnvironment>;

/** The environment that activities run in. */
export interface ActivityHost {
  time: VirtualTime;
  /** The current worker. */
  worker: () => MemoryWorker;
  /** The activity info shared by all activities of the run. */
  info: NonNullable<EnvironmentArguments[0]>;
  environment: NonNullable<EnvironmentArguments[1]>;
}

/** The request for an activity, without the interpretation of its outcome. */
type ScheduledCall<Input> = Pick<ActivityRequest<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** The end of one attempt. `lost`: no completion arrives. */
type AttemptEnd =
  | { type: 'completed'; output: unknown }
  | ({ type: 'failed' | 'cancelled' } & SentFailure)
  | { type: 'lost' | 'timed_out' };

/**
 * One activity from its first attempt to its end, following Temporal's rules. Attempts take real time, the waits
 * between them virtual time, and a failure is converted as for a workflow.
 */
class ScheduledActivity<Input, Output> {
  readonly #call: ScheduledCall<Input>;
  readonly #host: ActivityHost;
  readonly #id: string;
  readonly #givenUp = Promise.withResolvers<never>();
  readonly #cancelled = new AbortController();
  #environment: MockActivityEnvironment | undefined;
  #loseAttempt: (() => void) | undefined;
  #heartbeat: unknown;
  /** The token of the running attempt. */
  #token: string | undefined;
  #scheduledAt = 0;
  /** When the activity must have ended, with all of its attempts. */
  #closeAt = Infinity;
  /** The failure of the attempt before. */
  #lastFailure: TemporalFailure | undefined;

  constructor(id: string, call: ScheduledCall<Input>, host: ActivityHost) {
    this.#id = id;
    this.#call = call;
    this.#host = host;
    this.#givenUp.promise.catch(() => undefined);
  }

  /**
   * Runs the activity to its end. `outcome` rejects with an ActivityFailure. `attempts` ends later if the activity
   * was abandoned and ignores its signal.
   */
  run(): { outcome: Promise<Output>; attempts: Promise<unknown> } {
    const attempts = this.#attempts();
    return { outcome: Promise.race([attempts, this.#givenUp.promise]), attempts };
  }

  /** Cancels the activity: it ends at once, or when its attempt has ended if the request says so. */
  cancel(): void {
    this.#cancelled.abort();
    this.#environment?.cancel('CANCELLED');
    const isWaitedFor = this.#call.options.cancellationType === ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
    if (this.#environment === undefined || !isWaitedFor) this.#givenUp.reject(this.#failure(new CancelledFailure('CANCELLED')));
  }

  get name(): string {
    return this.#call.name;
  }

  /** The details of the last heartbeat. */
  get stored(): unknown {
    return this.#heartbeat;
  }

  /** Stores the heartbeat details of the running attempt. Returns undefined for another attempt. */
  heartbeat(token: string, details: unknown): { cancelRequested: boolean } | undefined {
    if (token !== this.#token) return undefined;
    this.#heartbeat = details;
    return { cancelRequested: this.#cancelled.signal.aborted };
  }

  /** Ends the attempt, because its worker has died. */
  workerDied(): void {
    this.#loseAttempt?.();
    this.#environment?.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }));
  }

  async #attempts(): Promise<Output> {
    const { retry = {}, scheduleToCloseTimeout } = this.#call.options;
    const { time } = this.#host;
    this.#scheduledAt = time.now();
    this.#closeAt = scheduleToCloseTimeout === undefined ? Infinity : this.#scheduledAt + msToNumber(scheduleToCloseTimeout);
    for (let attempt = 1; ; attempt += 1) {
      if (this.#cancelled.signal.aborted) throw this.#failure(new CancelledFailure('CANCELLED'));
      const end = await this.#attempt(attempt);
      if (end.type === 'completed') return end.output as Output;
      const failed: SentFailure = 'failure' in end ? end : { failure: await this.#timeOut(end.type) };
      if (end.type === 'cancelled' || this.#cancelled.signal.aborted) throw this.#failure(failed.failure);
      const next = retryAfter(retry, { ...failed, attempt, leftMs: this.#closeAt - time.now() });
      if (next.type === 'end') throw this.#failure(failed.failure, next.state);
      this.#lastFailure = failed.failure;
      await time.sleepUntil(time.now() + next.afterMs, this.#cancelled.signal);
    }
  }

  async #attempt(attempt: number): Promise<AttemptEnd> {
    const { time, worker, info, environment: environmentOptions } = this.#host;
    const { name, options, tier } = this.#call;
    const token = (this.#token = `${info.workflowExecution?.workflowId ?? ''}/${this.#id}/${attempt}`);
    const environment = new MockActivityEnvironment(
      {
        ...info,
        taskToken: Buffer.from(token),
        activityId: this.#id,
        activityType: name,
        attempt,
        isLocal: tier === 'local',
        scheduledTimestampMs: this.#scheduledAt,
        currentAttemptScheduledTimestampMs: time.now(),
        startToCloseTimeoutMs: this.#startToCloseMs,
        ...defined({ heartbeatTimeoutMs: this.#heartbeatMs }),
        heartbeatDetails: this.#heartbeat,
        ...defined({ retryPolicy: options.retry }),
      },
      environmentOptions,
    );
    environment.on('heartbeat', (details: unknown) => (this.#heartbeat = roundTrip(details)));
    this.#environment = environment;
    const died = Promise.withResolvers<AttemptEnd>();
    this.#loseAttempt = () => died.resolve({ type: 'lost' });
    const over = new AbortController();
    const executed = this.#executed(environment, worker());
    const timedOut = this.#timeUp(executed, over);
    try {
      // An attempt that ends because it was timed out has sent its last heartbeat, and nobody takes its answer.
      const answered = executed.then((end) => (over.signal.aborted ? timedOut : end));
      return await time.during(Promise.race([answered, died.promise, timedOut]));
    } finally {
      over.abort();
      this.#environment = undefined;
      this.#loseAttempt = undefined;
      this.#token = undefined;
    }
  }

  async #executed(environment: MockActivityEnvironment, worker: MemoryWorker): Promise<AttemptEnd> {
    const { name, input } = this.#call;
    const execute = (sent: unknown): Promise<unknown> => worker.activity(name)(sent);
    try {
      return { type: 'completed', output: roundTrip(await environment.run(execute, roundTrip(input))) };
    } catch (error) {
      if (error instanceof CompleteAsyncError) return { type: 'lost' };
      const isAbort = error instanceof CancelledFailure || (error instanceof Error && error.name === 'AbortError');
      return isAbort && this.#cancelled.signal.aborted
        ? { type: 'cancelled', failure: new CancelledFailure('CANCELLED') }
        : { type: 'failed', ...failureAsSent(error) };
    }
  }

  /** Ends an attempt that takes too long, as the server does. Its worker may have ended it itself by then, and otherwise hears of it. */
  async #timeUp(executed: Promise<AttemptEnd>, over: AbortController): Promise<AttemptEnd> {
    const leftMs = Math.min(this.#startToCloseMs, this.#closeAt - this.#host.time.now());
    const { signal } = over;
    await realSleep(Math.min(leftMs + LATENCY_MS, MAX_TIMER_MS), { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) {
      over.abort();
      this.#environment?.cancel('TIMED_OUT', new ActivityCancellationDetails({ timedOut: true }));
      await Promise.race([executed, realSleep(LATENCY_MS)]);
    }
    return { type: 'timed_out' };
  }

  /**
   * Returns the timeout of an attempt. For a lost attempt the server waits until the heartbeat, the attempt or the whole activity times
   * out.
   */
  async #timeOut(end: 'lost' | 'timed_out'): Promise<TimeoutFailure> {
    const isSilent = end === 'lost' && this.#heartbeatMs !== undefined && this.#heartbeatMs < this.#startToCloseMs;
    const { time } = this.#host;
    const until = time.now() + (isSilent ? (this.#heartbeatMs ?? 0) : this.#startToCloseMs);
    if (end === 'lost') await time.sleepUntil(Math.min(until, this.#closeAt));
    if (time.now() >= this.#closeAt) return this.#closed();
    return isSilent
      ? new TimeoutFailure('activity Heartbeat timeout', this.#heartbeat, 'HEARTBEAT')
      : new TimeoutFailure('activity StartToClose timeout', this.#heartbeat, 'START_TO_CLOSE');
  }

  /** Returns the failure of an activity that has no time left, with the failure of its last attempt, as the server sends it. */
  #closed(): TimeoutFailure {
    const sent = (failure: TemporalFailure): ProtoFailure => defaultFailureConverter.errorToFailure(failure, defaultPayloadConverter);
    const closed = sent(new TimeoutFailure('activity ScheduleToClose timeout', this.#heartbeat, 'SCHEDULE_TO_CLOSE'));
    if (this.#lastFailure !== undefined) closed.cause = sent(this.#lastFailure);
    return defaultFailureConverter.failureToError(closed, defaultPayloadConverter) as TimeoutFailure;
  }

  get #startToCloseMs(): number {
    const { startToCloseTimeout, scheduleToCloseTimeout } = this.#call.options;
    return Math.min(msToNumber(startToCloseTimeout ?? Infinity), msToNumber(scheduleToCloseTimeout ?? Infinity));
  }

  get #heartbeatMs(): number | undefined {
    const { heartbeatTimeout } = this.#call.options;
    return heartbeatTimeout === undefined ? undefined : msToNumber(heartbeatTimeout);
  }

  #failure(cause: TemporalFailure, state: RetryState = 'CANCEL_REQUESTED'): ActivityFailure {
    const message = cause instanceof TimeoutFailure ? 'Activity task timed out' : 'Activity task failed';
    return new ActivityFailure(message, this.#call.name, this.#id, state, 'memory', cause);
  }
}

/** The time that the server takes to end an attempt after its timeout, and its worker to end its work then, in milliseconds. */
const LATENCY_MS = 100;

/** The longest timeout that Node supports. */
const MAX_TIMER_MS = 2_147_483_647;

/** The server's defaults if an activity sets no retry policy. */
const DEFAULTS = { initialInterval: 1_000, backoffCoefficient: 2, maximumAttempts: Infinity } as const;
const DEFAULT_MAXIMUM_FACTOR = 100;

/** What follows a failed attempt: another attempt after `waitMs` milliseconds, or the end, with the reason. */
export type Retry =
  | { type: 'again'; afterMs: number }
  | { type: 'end'; state: 'NON_RETRYABLE_FAILURE' | 'MAXIMUM_ATTEMPTS_REACHED' | 'TIMEOUT' };

interface FailedAttempt extends SentFailure {
  /** The number of the attempt, 1-based. */
  attempt: number;
  /** The remaining time of the activity, in milliseconds. */
  leftMs: number;
}

/** Returns what Temporal does after a failed attempt. */
export function retryAfter(policy: RetryPolicy, { attempt, failure, waitMs, leftMs }: FailedAttempt): Retry {
  if (!isRetryable(policy, failure)) return { type: 'end', state: 'NON_RETRYABLE_FAILURE' };
  // Zero also means no limit.
  if (attempt >= (policy.maximumAttempts || DEFAULTS.maximumAttempts)) return { type: 'end', state: 'MAXIMUM_ATTEMPTS_REACHED' };
  const afterMs = waitMs ?? backoff(policy, attempt);
  return afterMs < leftMs ? { type: 'again', afterMs } : { type: 'end', state: 'TIMEOUT' };
}

function isRetryable({ nonRetryableErrorTypes = [] }: RetryPolicy, failure: TemporalFailure): boolean {
  if (failure instanceof TimeoutFailure) return failure.timeoutType === 'START_TO_CLOSE' || failure.timeoutType === 'HEARTBEAT';
  if (!(failure instanceof ApplicationFailure)) return true;
  return failure.nonRetryable !== true && !nonRetryableErrorTypes.includes(failure.type ?? '');
}

function backoff(policy: RetryPolicy, attempt: number): number {
  const initial = msToNumber(policy.initialInterval ?? DEFAULTS.initialInterval);
  const longest = policy.maximumInterval === undefined ? initial * DEFAULT_MAXIMUM_FACTOR : msToNumber(policy.maximumInterval);
  return Math.min(longest, initial * (policy.backoffCoefficient ?? DEFAULTS.backoffCoefficient) ** (attempt - 1));
}

/** Returns a value as the other side of a server would receive it: converted, and never the same object. */
export function roundTrip<Value>(value: Value): Value {
  return defaultPayloadConverter.fromPayload(defaultPayloadConverter.toPayload(value));
}

export interface SentFailure {
  /** The failure as its run receives it. */
  failure: TemporalFailure;
  /** The delay that the activity requests before the next attempt, in milliseconds. Only the server receives it. */
  waitMs?: number;
}

/** Returns the error that an activity threw as the server and the run receive it. */
export function failureAsSent(error: unknown): SentFailure {
  const thrown = ensureApplicationFailure(error);
  const sent: ProtoFailure = defaultFailureConverter.errorToFailure(thrown, defaultPayloadConverter);
  const failure = defaultFailureConverter.failureToError(sent, defaultPayloadConverter) as TemporalFailure;
  const { nextRetryDelay } = thrown;
  return { failure, ...(nextRetryDelay === undefined || nextRetryDelay === null ? {} : { waitMs: msToNumber(nextRetryDelay) }) };
}
