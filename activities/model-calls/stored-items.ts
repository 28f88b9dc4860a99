import { getClient, log } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import { SPILLED_CONTENT, type SpilledContent } from '../../src/core/domain/content.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import type { WindowEvent } from '../../src/core/domain/window.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { type PayloadStore, readSpilled, spill } from '../../src/stores/payload-store.ts';
import { currentRun } from '../attempts/attempt.ts';
import { MOST_ITEM_BYTES } from '../../src/model/interpret-response.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Bytes of JSON up to which the items of an answer are in its event. */
const INLINE_ITEM_BYTES = 64_000;

/** Bytes of JSON of the items that an answer may have if the worker has a payload store. */
export const STORED_ITEM_BYTES = 4_000_000;

/** Bytes of the items of all runs that a process keeps. */
const KEPT_BYTES = 50_000_000;

/** The items that were read or stored, by their digest. */
const keptItems = new WeakMap<PayloadStore, LRUCache<string, JsonValue[]>>();

function keptOf(store: PayloadStore): LRUCache<string, JsonValue[]> {
  const kept = keptItems.get(store) ?? new LRUCache<string, JsonValue[]>({ maxSize: KEPT_BYTES, sizeCalculation: jsonBytes });
  keptItems.set(store, kept);
  return kept;
}

type Stores = Pick<ActivityRuntime, 'payloadStore'>;

/**
 * Puts large items of an answer (reasoning, signatures, results of hosted tools) into the payload store: the event has their owner, and
 * their place. Without a store they stay in the event, up to what an event may have.
 */
export async function withStoredItems({ payloadStore: store }: Stores, response: RecordedResponse): Promise<RecordedResponse> {
  const [owner, ...items] = response.providerItems ?? [];
  if (store === undefined || !isJsonObject(owner) || (jsonBytes(items) <= INLINE_ITEM_BYTES && !items.some(isBinary))) return response;
  try {
    const spilled = await spill(store, getClient().options.loadedDataConverter, currentRun(), items);
    keptOf(store).set(spilled.sha256, items);
    return { ...response, providerItems: [{ ...owner, spilled: { ...spilled } }] };
  } catch (error) {
    // The answer is paid for, and can do without. If an event has room for them, they stay there.
    log.warn(`What the provider expects back of an answer was not stored: ${errorMessage(error)}`);
    const kept = items.filter((item) => !isBinary(item));
    return { ...response, providerItems: jsonBytes(kept) <= MOST_ITEM_BYTES ? [owner, ...kept] : [owner] };
  }
}

/** True for a file of the reasoning: no event has one, however small it is. */
function isBinary(item: JsonValue): boolean {
  return isJsonObject(item) && item['t'] === 'reasoning-file';
}

/** Returns events with the items that are in the payload store. Those that cannot be read are lost: the conversation goes on without. */
export async function withReadItems(runtime: Stores, events: readonly WindowEvent[]): Promise<readonly WindowEvent[]> {
  if (!events.some(({ providerItems }) => spilledOf(providerItems) !== undefined)) return events;
  return Promise.all(events.map((event) => withItems(runtime, event)));
}

async function withItems({ payloadStore: store }: Stores, event: WindowEvent): Promise<WindowEvent> {
  const spilled = spilledOf(event.providerItems);
  const [owner = null] = event.providerItems ?? [];
  if (spilled === undefined) return event;
  try {
    if (store === undefined) throw new Error('this worker has no "payloadStore"');
    const items = keptOf(store).get(spilled.sha256) ?? (await readSpilled(store, getClient().options.loadedDataConverter, spilled));
    keptOf(store).set(spilled.sha256, items);
    return { ...event, providerItems: [owner, ...items] };
  } catch (error) {
    log.warn(`What the provider expects back of event "${event.id}" was not read from the payload store: ${errorMessage(error)}`);
    return { ...event, providerItems: [owner] };
  }
}

/** Returns the place of the items of an event; undefined if they are in the event, or it has none. */
function spilledOf([owner, ...items]: readonly JsonValue[] = []): SpilledContent | undefined {
  const spilled = isJsonObject(owner) && items.length === 0 ? owner['spilled'] : undefined;
  return spilled !== undefined && checkJson(SPILLED_CONTENT, spilled).length === 0 ? (spilled as SpilledContent) : undefined;
}
