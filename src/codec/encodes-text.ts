import type { FailureConverter, LoadedDataConverter } from '@temporalio/common';

/**
 * Whether text outside payloads must not reach the server, such as the reason of a cancellation: true where messages of
 * failures are moved into payloads, by this package's converter or by one of the user.
 */
export function encodesText({ failureConverter }: LoadedDataConverter): boolean {
  const { options } = failureConverter as FailureConverter & { options?: { encodeCommonAttributes?: unknown } };
  return options?.encodeCommonAttributes === true;
}
