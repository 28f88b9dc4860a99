import { type LoadedDataConverter, type Payload, StorageDriverClaim } from '@temporalio/common';
import { createHash } from 'node:crypto';
import type { SpilledContent } from '../../core/domain/content.ts';
import { LonghaulError } from '../../core/domain/errors.ts';
import { isJsonObject, type JsonValue } from '../../core/domain/json.ts';
import type { PayloadStore, StoredRun } from './payload-store.ts';

/**
 * The converter between values and payloads. Its codecs are those of the rest of the run, so that nothing is stored
 * in clear text that is encrypted in history.
 */
export type SpillConverter = Pick<LoadedDataConverter, 'payloadConverter' | 'payloadCodecs'>;

/** Stores content of a run in a payload store. Rejects with the errors of the store. */
export async function spill(store: PayloadStore, converter: SpillConverter, run: StoredRun, content: JsonValue[]): Promise<SpilledContent> {
  let payloads: Payload[] = [converter.payloadConverter.toPayload(content)];
  for (const codec of converter.payloadCodecs) payloads = await codec.encode(payloads);
  const target = { kind: 'workflow', namespace: run.namespace, id: run.runId } as const;
  const [claim] = await store.store({ target }, payloads);
  if (claim === undefined) throw new LonghaulError('internal', `Payload store "${store.name}" returned no claim`);
  const claimed: unknown = { ...claim.claimData };
  if (!isClaim(claimed)) throw new LonghaulError('internal', `Payload store "${store.name}" returned a claim that is no object of texts`);
  const json = JSON.stringify(content);
  return { store: store.name, claim: claimed, bytes: Buffer.byteLength(json), sha256: digest(json) };
}

/**
 * Reads content from a payload store. Throws `spilled_unavailable` if the store does not have it, or has other
 * content.
 */
export async function readSpilled(store: PayloadStore, converter: SpillConverter, spilled: SpilledContent): Promise<JsonValue[]> {
  if (store.name !== spilled.store) {
    throw new LonghaulError(
      'spilled_unavailable',
      `The content is in store "${spilled.store}", not in "${store.name}": read it with that store`,
    );
  }
  let payloads = await store.retrieve({}, [new StorageDriverClaim(spilled.claim)]);
  for (const codec of converter.payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  const [payload] = payloads;
  const content = payload === undefined ? [] : converter.payloadConverter.fromPayload<JsonValue[]>(payload);
  if (digest(JSON.stringify(content)) === spilled.sha256) return content;
  throw new LonghaulError(
    'spilled_unavailable',
    `Store "${store.name}" gave other content than was stored: its SHA-256 is not ${spilled.sha256}`,
  );
}

/** True for a valid claim. A store may be written in JavaScript, and its claims are recorded in history. */
function isClaim(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
