import {
  defaultFailureConverter,
  defaultPayloadConverter,
  ensureApplicationFailure,
  type ProtoFailure,
  type TemporalFailure,
} from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';

/** Returns a value as the other side of a server receives it: converted, and never the same object. */
export function roundTrip<Value>(value: Value): Value {
  return defaultPayloadConverter.fromPayload(defaultPayloadConverter.toPayload(value));
}

/** A failure of an activity. */
export interface SentFailure {
  /** The failure as its run receives it. */
  failure: TemporalFailure;
  /** The delay before the next attempt that the activity asks for, in milliseconds. Only the server receives it. */
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
