import { AsyncLocalStorage } from 'node:async_hooks';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, type RetryPolicy } from '@temporalio/common';
import { isInstance } from '../../src/core/domain/errors.ts';

/** What one attempt at a call knows of itself. The activity that it runs in is another thing: several calls may share one. */
export interface AttemptInfo {
  /** The name of the activity of such a call; for that of a tool, the name of the tool. */
  readonly name: string;
  /** 1-based. */
  readonly attempt: number;
  /** The attempt runs inside the workflow task: its run answers nothing before it has ended. */
  readonly isLocal: boolean;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number | undefined;
  readonly retryPolicy: RetryPolicy | undefined;
  /** The beginnings of the call and of this attempt, by one clock, in milliseconds since the epoch. */
  readonly scheduledTimestampMs: number;
  readonly currentAttemptScheduledTimestampMs: number;
  /** The details of the last heartbeat of the attempts before. */
  readonly heartbeatDetails: unknown;
  /** Aborted by a cancellation, a time-out, or a shutdown of the worker. */
  readonly signal: AbortSignal;
  /** True if the server says that the run has cancelled the call. */
  readonly isCancelled: boolean;
  /** Absent: the activity makes this call alone. */
  readonly inside?: InsideAttempt;
  /** Sends a heartbeat, whose details the next attempt reads. May be called by code of another call. */
  heartbeat(details: unknown): void;
}

/** What an attempt knows of the activity that makes it among other calls. */
export interface InsideAttempt {
  /** True if the attempt before was made by the same attempt of the activity: it has ended as every attempt does, and was not lost. */
  readonly isRetry: boolean;
  /** How often the activity, or a batch, has made a call under the same name to its end before. */
  readonly earlier: number;
  /** Calls back once the server has the outcome of the call; never if it does not get it, because the call is then made again. */
  whenStored(report: () => void): void;
}

const attempts = new AsyncLocalStorage<AttemptInfo>();

/** Returns what the current attempt knows of itself: as it was made, or by the activity that makes one call alone. */
export function attemptInfo(): AttemptInfo {
  return attempts.getStore() ?? new ActivityAttempt(Context.current());
}

/** Runs an attempt at one of several calls of an activity. */
export function withAttemptInfo<Result>(info: AttemptInfo, work: () => Promise<Result>): Promise<Result> {
  return attempts.run(info, work);
}

/** Runs the current attempt as one that another activity makes among others. */
export function withInside<Result>(inside: InsideAttempt, work: () => Promise<Result>): Promise<Result> {
  return attempts.run(new ActivityAttempt(Context.current(), inside), work);
}

/** The attempt of an activity that makes one call, or of a call whose answer comes from elsewhere. */
class ActivityAttempt implements AttemptInfo {
  readonly inside?: InsideAttempt;
  readonly #context: Context;

  constructor(context: Context, inside?: InsideAttempt) {
    this.#context = context;
    if (inside !== undefined) this.inside = inside;
  }

  get name(): string {
    return this.#context.info.activityType;
  }

  get attempt(): number {
    return this.#context.info.attempt;
  }

  get isLocal(): boolean {
    return this.#context.info.isLocal;
  }

  get startToCloseTimeoutMs(): number {
    return this.#context.info.startToCloseTimeoutMs;
  }

  get heartbeatTimeoutMs(): number | undefined {
    return this.#context.info.heartbeatTimeoutMs;
  }

  get retryPolicy(): RetryPolicy | undefined {
    return this.#context.info.retryPolicy;
  }

  get scheduledTimestampMs(): number {
    return this.#context.info.scheduledTimestampMs;
  }

  get currentAttemptScheduledTimestampMs(): number {
    return this.#context.info.currentAttemptScheduledTimestampMs;
  }

  get heartbeatDetails(): unknown {
    return this.#context.info.heartbeatDetails;
  }

  get signal(): AbortSignal {
    return this.#context.cancellationSignal;
  }

  get isCancelled(): boolean {
    return this.#context.cancellationDetails?.cancelRequested === true;
  }

  heartbeat(details: unknown): void {
    this.#context.heartbeat(details);
  }
}

/**
 * A call that has to wait for long gives its slot of the worker back: its attempt ends before anything was sent, and the server makes the
 * next one after `nextRetryDelay`. That writes no event, and the attempt does not count. So the server must not limit the attempts of such
 * a call (`timing.parks` of its run); the workers count those that were made.
 */

/** The type of the failure of an attempt that was parked. It is no error code: no call fails with it. */
const PARKED = 'Parked';

/** The longest time until a parked call looks again. */
const LONGEST_PARK_MS = 30 * 60 * 1_000;

/** Ends an attempt that has sent nothing. */
export class ParkedAttempt extends Error {
  override readonly name = 'ParkedAttempt';
  /** Milliseconds until the next attempt. */
  readonly waitMs: number;

  /** What a reader of the status reads. */
  readonly details: object;
  /** What the next attempt reads. Default: the same. */
  readonly kept: object;
  /** The server has these details already: a heartbeat would be a billed action for nothing. */
  readonly isNoted: boolean;

  /** `message`: why the call waits, for a person. */
  constructor(
    message: string,
    waitMs: number,
    { details = {}, kept = details, isNoted = false }: { details?: object; kept?: object; isNoted?: boolean } = {},
  ) {
    super(message);
    this.details = details;
    this.kept = kept;
    this.isNoted = isNoted;
    this.waitMs = Math.max(1, Math.min(LONGEST_PARK_MS, Math.ceil(waitMs)));
  }
}

/** True if the current attempt may be parked: workers count the attempts, and not the server. */
export function mayPark(): boolean {
  const { isLocal, retryPolicy } = attemptInfo();
  return !isLocal && !(retryPolicy?.maximumAttempts ?? 0);
}

/** Returns the failure with which the server makes the next attempt later. */
export function parkedFailure({ message, waitMs, details }: ParkedAttempt): ApplicationFailure {
  const parts = { type: PARKED, message, nonRetryable: false, nextRetryDelay: waitMs, category: ApplicationFailureCategory.BENIGN };
  return ApplicationFailure.create(Object.keys(details).length === 0 ? parts : { ...parts, details: [details] });
}

/** True for the failure of an attempt that was parked: it counts nowhere. */
export function isParked(failure: unknown): boolean {
  return isInstance(failure, ApplicationFailure) && failure.type === PARKED;
}
