import { AsyncLocalStorage } from 'node:async_hooks';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, type RetryPolicy } from '@temporalio/common';
import { isInstance } from '../../src/core/domain/errors.ts';

/** Information about one attempt at a call. It is separate from the activity's, because several calls may share one activity. */
export interface AttemptInfo {
  /** The activity name of the call; for a tool call, the name of the tool. */
  readonly name: string;
  /** 1-based. */
  readonly attempt: number;
  /** The attempt runs inside the workflow task: the run answers no query before it ends. */
  readonly isLocal: boolean;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number | undefined;
  readonly retryPolicy: RetryPolicy | undefined;
  /** The start times of the call and of this attempt, by the same clock, in milliseconds since the epoch. */
  readonly scheduledTimestampMs: number;
  readonly currentAttemptScheduledTimestampMs: number;
  /** The details of the last heartbeat of earlier attempts. */
  readonly heartbeatDetails: unknown;
  /** Aborted by a cancellation, a timeout, or a shutdown of the worker. */
  readonly signal: AbortSignal;
  /** True if the server says that the run has cancelled the call. */
  readonly isCancelled: boolean;
  /** Absent: the activity makes only this call. */
  readonly inside?: InsideAttempt;
  /** Sends a heartbeat, whose details the next attempt reads. May be called from another call's code. */
  heartbeat(details: unknown): void;
}

/** Information about the activity that makes this attempt along with other calls. */
export interface InsideAttempt {
  /** True if the same attempt of the activity made the previous attempt: that one ended regularly, and was not lost. */
  readonly isRetry: boolean;
  /** How many calls under the same name the activity, or a batch, has completed before. */
  readonly earlier: number;
  /** Calls back once the server has the outcome of the call; never if the server does not get it, because the call is then made again. */
  whenStored(report: () => void): void;
}

const attempts = new AsyncLocalStorage<AttemptInfo>();

/** Returns the information about the current attempt, or about the activity if it makes only one call. */
export function attemptInfo(): AttemptInfo {
  return attempts.getStore() ?? new ActivityAttempt(Context.current());
}

/** Runs an attempt at one of an activity's several calls. */
export function withAttemptInfo<Result>(info: AttemptInfo, work: () => Promise<Result>): Promise<Result> {
  return attempts.run(info, work);
}

/** Runs the current attempt as one of several calls of another activity. */
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
 * A call that must wait for long releases its worker slot: its attempt ends before anything was sent, and the server makes the next one
 * after `nextRetryDelay`. That writes no event, and the attempt does not count. So the server must not limit the attempts of such a call
 * (`timing.parks` of its run); the workers count the attempts that were made.
 */

/** The failure type of a parked attempt. It is not an error code: no call fails with it. */
const PARKED = 'Parked';

/** The longest time until a parked call tries again. */
const LONGEST_PARK_MS = 30 * 60 * 1_000;

/** Thrown to end an attempt that has sent nothing. */
export class ParkedAttempt extends Error {
  override readonly name = 'ParkedAttempt';
  /** Milliseconds until the next attempt. */
  readonly waitMs: number;

  /** The details that the run's status shows. */
  readonly details: object;
  /** The details that the next attempt reads. Default: the same. */
  readonly kept: object;
  /** The server already has these details: a heartbeat would be a wasted billed action. */
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

/** True if the current attempt may be parked: workers, not the server, count its attempts. */
export function mayPark(): boolean {
  const { isLocal, retryPolicy } = attemptInfo();
  return !isLocal && !(retryPolicy?.maximumAttempts ?? 0);
}

/** Returns the failure that makes the server start the next attempt later. */
export function parkedFailure({ message, waitMs, details }: ParkedAttempt): ApplicationFailure {
  const parts = { type: PARKED, message, nonRetryable: false, nextRetryDelay: waitMs, category: ApplicationFailureCategory.BENIGN };
  return ApplicationFailure.create(Object.keys(details).length === 0 ? parts : { ...parts, details: [details] });
}

/** True for the failure of a parked attempt, which counts nowhere. */
export function isParked(failure: unknown): boolean {
  return isInstance(failure, ApplicationFailure) && failure.type === PARKED;
}
