import { jsonBytes } from '../src/domain/payload-limit.ts';
import { PAGE_BYTES } from '../src/protocol.ts';

/** The items from `from` on that fit one answer: at least one, where there is one. */
export function page<Item>(items: readonly Item[], from: number): Item[] {
  const taken: Item[] = [];
  let bytes = 0;
  for (const item of items.slice(Math.max(0, from))) {
    bytes += jsonBytes(item);
    if (taken.length > 0 && bytes > PAGE_BYTES) break;
    taken.push(item);
  }
  return taken;
}
