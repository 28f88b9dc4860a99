import { jsonBytes } from '../domain/json/payload-limit.ts';
import { PAGE_BYTES } from '../protocol.ts';

/** The largest item that goes into an answer at all, beside what else stands there: two hundred results of one step are larger. */
const MAX_ITEM_BYTES = 1_250_000;

/**
 * The items from `from` on that fit one answer. None where the first is too large for any: the caller reads it from
 * the history, which has it in parts.
 */
export function page<Item>(items: readonly Item[], from: number): Item[] {
  const taken: Item[] = [];
  let bytes = 0;
  for (const item of items.slice(Math.max(0, from))) {
    bytes += jsonBytes(item);
    if (bytes > (taken.length === 0 ? MAX_ITEM_BYTES : PAGE_BYTES)) break;
    taken.push(item);
  }
  return taken;
}
