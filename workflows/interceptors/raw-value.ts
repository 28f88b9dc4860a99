import { defaultPayloadConverter, RawValue } from '@temporalio/common';
import { readOrMark } from '../../src/core/domain/json/unreadable.ts';

/**
 * The value of what was taken with `rawValueTypeInfo`: an `Unreadable` where it cannot be read. The SDK would fail the
 * workflow task for that, which is tried again for ever, also in a workflow of the user with an agent in it.
 */
export function valueOf(raw: unknown): unknown {
  return raw instanceof RawValue ? readOrMark(raw.payload, () => defaultPayloadConverter.fromPayload(raw.payload)) : raw;
}
