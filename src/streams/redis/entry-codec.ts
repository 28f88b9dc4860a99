import type { LoadedDataConverter, Payload } from '@temporalio/common';
import { packPayload, unpackPayload } from '../../codec/payload-bytes.ts';
import type { StreamEntry } from '../../core/domain/stream.ts';

/** The part of a data converter that entries need. Its codecs are those of the run. */
export type EntryConverter = Pick<LoadedDataConverter, 'payloadConverter' | 'payloadCodecs'>;

/** Encodes entries, which are payloads already, as they are stored. Rejects with the errors of the codecs. */
export async function encodeEntries({ payloadCodecs }: EntryConverter, entries: readonly Payload[]): Promise<Buffer[]> {
  let payloads = [...entries];
  for (const codec of payloadCodecs) payloads = await codec.encode(payloads);
  if (payloads.length !== entries.length) throw new Error(`A codec returned ${payloads.length} payloads instead of ${entries.length}`);
  return payloads.map((payload) => Buffer.from(packPayload(payload)));
}

/** Decodes stored entries. One that cannot be read is undefined. */
export async function decodeEntries(converter: EntryConverter, stored: readonly Buffer[]): Promise<(StreamEntry | undefined)[]> {
  try {
    return await decodeAll(converter, stored);
  } catch {
    // One of them is damaged, or needs a key that this process does not have: the others may be readable.
    return Promise.all(
      stored.map((one) =>
        decodeAll(converter, [one]).then(
          ([entry]) => entry,
          () => undefined,
        ),
      ),
    );
  }
}

async function decodeAll({ payloadConverter, payloadCodecs }: EntryConverter, stored: readonly Buffer[]): Promise<StreamEntry[]> {
  let payloads = stored.map((bytes) => unpackPayload(bytes));
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  if (payloads.length !== stored.length) throw new Error(`A codec returned ${payloads.length} payloads instead of ${stored.length}`);
  return payloads.map((payload) => payloadConverter.fromPayload<StreamEntry>(payload));
}
