import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { isInstance } from '../../src/core/domain/errors.ts';
import { attemptInfo } from './attempt-info.ts';

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
