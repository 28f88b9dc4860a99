import { jsonBytes } from './payload-limit.ts';

/** The most items of a list that are kept, and their bytes of JSON. */
export interface Bounds {
  count: number;
  bytes: number;
}

/** Returns the newest items, which are last, within the bounds. */
export function newest<Item>(items: readonly Item[], most: Bounds): Item[] {
  let bytes = 0;
  let count = 0;
  for (const item of items.toReversed()) {
    bytes += jsonBytes(item) + ','.length;
    if (bytes > most.bytes || count === most.count) break;
    count += 1;
  }
  return items.slice(items.length - count);
}
