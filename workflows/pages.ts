import { utf8Length } from '../src/domain/text.ts';
import { PAGE_BYTES } from '../src/protocol.ts';

/** The items from `from` on that fit one answer: at least one, where there is one. */
export function page<Item>(items: readonly Item[], from: number): Item[] {
  const taken: Item[] = [];
  let bytes = 0;
  for (const item of items.slice(Math.max(0, from))) {
    bytes += utf8Length(JSON.stringify(item));
    if (taken.length > 0 && bytes > PAGE_BYTES) break;
    taken.push(item);
  }
  return taken;
}
