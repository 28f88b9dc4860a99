import { AsyncLocalStorage } from 'node:async_hooks';
import { Context } from '@temporalio/activity';
import type { RetryPolicy } from '@temporalio/common';

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
