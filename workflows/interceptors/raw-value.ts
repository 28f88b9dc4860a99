import { defaultPayloadConverter, RawValue } from '@temporalio/common';
import { readOrMark } from '../../src/core/domain/json.ts';

/**
 * Returns the value of an argument taken with `rawValueTypeInfo`; an `Unreadable` if it cannot be decoded. The SDK
 * would fail the workflow task instead, which the server retries forever, also in a workflow of the user that runs an
 * agent inline.
 */
export function decodedValue(raw: unknown): unknown {
  return raw instanceof RawValue ? readOrMark(raw.payload, () => defaultPayloadConverter.fromPayload(raw.payload)) : raw;
}
