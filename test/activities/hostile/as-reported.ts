import { defaultFailureConverter, defaultPayloadConverter, ensureApplicationFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

/** The outcome of an activity, as its worker reports it to the server. */
export type Reported =
  | { type: 'completed'; bytes: number }
  | { type: 'failed'; bytes: number; failureType: string; nonRetryable: boolean; message: string; waitMs: number | undefined };

/** Encodes the outcome of an activity with the converters and the wire format of a worker. Throws if a worker would crash. */
export async function asReported(running: Promise<unknown>): Promise<Reported> {
  let thrown: unknown;
  try {
    const payload = defaultPayloadConverter.toPayload(await running);
    return { type: 'completed', bytes: payload.data?.length ?? 0 };
  } catch (error) {
    thrown = error;
  }
  const { Failure } = temporal.api.failure.v1;
  const failure = defaultFailureConverter.errorToFailure(ensureApplicationFailure(thrown), defaultPayloadConverter);
  requireText(failure);
  const encoded = Failure.encode(failure).finish();
  const { message, applicationFailureInfo } = Failure.decode(encoded);
  const delay = applicationFailureInfo?.nextRetryDelay;
  return {
    type: 'failed',
    bytes: encoded.length,
    failureType: applicationFailureInfo?.type ?? '',
    nonRetryable: applicationFailureInfo?.nonRetryable === true,
    message: message ?? '',
    waitMs: delay === undefined || delay === null ? undefined : Number(delay.seconds) * 1_000 + (delay.nanos ?? 0) / 1_000_000,
  };
}

/** The wire format accepts texts that are not UTF-8, but the native core of a worker does not. */
function requireText(failure: temporal.api.failure.v1.IFailure): void {
  const { message, stackTrace, cause, applicationFailureInfo } = failure;
  for (const text of [message, stackTrace, applicationFailureInfo?.type]) {
    if (text !== undefined && text !== null && (typeof text !== 'string' || !text.isWellFormed())) throw new Error('a text is no UTF-8');
  }
  if (cause !== undefined && cause !== null) requireText(cause);
}
