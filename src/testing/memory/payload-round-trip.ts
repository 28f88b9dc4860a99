import {
  defaultFailureConverter,
  defaultPayloadConverter,
  ensureApplicationFailure,
  type ProtoFailure,
  type TemporalFailure,
} from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';

/** A value as the other side of a server gets it: through the converter, and never the same object. */
export function roundTrip<Value>(value: Value): Value {
  return defaultPayloadConverter.fromPayload(defaultPayloadConverter.toPayload(value));
}

/** What an activity has thrown. */
export interface SentFailure {
  /** As its run is given it. */
  failure: TemporalFailure;
  /** The wait before the next attempt that it asks for, in milliseconds: the server alone is told of it. */
  waitMs?: number;
}

/** What an activity has thrown, as it arrives at the server and at its run. */
export function failureAsSent(error: unknown): SentFailure {
  const thrown = ensureApplicationFailure(error);
  const sent: ProtoFailure = defaultFailureConverter.errorToFailure(thrown, defaultPayloadConverter);
  const failure = defaultFailureConverter.failureToError(sent, defaultPayloadConverter) as TemporalFailure;
  const { nextRetryDelay } = thrown;
  return { failure, ...(nextRetryDelay === undefined || nextRetryDelay === null ? {} : { waitMs: msToNumber(nextRetryDelay) }) };
}
