import type { ConverterHint, LoadedDataConverter, Payload, PayloadConverter, SerializationContext } from '@temporalio/common';
import { readOrMark } from '../core/domain/json.ts';
import { markingCodecs } from './with-codec.ts';

/**
 * Returns the same converter for values of any sender: a value that cannot be read becomes an `Unreadable`, as in the
 * workflow, so that it does not keep a client from reading the rest of a run. Still throws `encryption_key_missing`,
 * and the errors of the user's own codecs.
 */
export function markingConverter(converter: LoadedDataConverter): LoadedDataConverter {
  return {
    ...converter,
    payloadCodecs: markingCodecs(converter.payloadCodecs),
    payloadConverter: markingPayloads(converter.payloadConverter),
  };
}

function markingPayloads(converter: PayloadConverter): PayloadConverter {
  return {
    toPayload: (value, context, hint) => converter.toPayload(value, context, hint),
    fromPayload: <Value>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<Value>): Value =>
      readOrMark(payload, () => converter.fromPayload<Value>(payload, context, hint)) as Value,
  };
}
