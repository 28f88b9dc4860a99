import { jsonBytes } from '../domain/json/payload-limit.ts';
import { PAGE_BYTES } from '../protocol.ts';

/** Bytes of the largest item that fits an answer beside its other fields. The event of two hundred results is larger. */
const MAX_ITEM_BYTES = 1_250_000;

/**
 * Returns the items from index `from` on that fit one answer, or the given bytes of it. The list is empty if the first is too large for any answer: the
 * caller then reads it from the history, which has it in parts.
 */
export function page<Item>(items: readonly Item[], from: number, most = MAX_ITEM_BYTES): Item[] {
  const fitting: Item[] = [];
  let bytes = 0;
  for (const item of items.slice(Math.max(0, from))) {
    bytes += jsonBytes(item);
    if (bytes > (fitting.length === 0 ? most : Math.min(most, PAGE_BYTES))) break;
    fitting.push(item);
  }
  return fitting;
}
