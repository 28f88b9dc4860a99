import type { StreamItem } from './stream-item.ts';

/** The lists behind the items that `oneByOne` yields. */
const LISTS = new WeakMap<AsyncGenerator<StreamItem>, AsyncGenerator<readonly StreamItem[]>>();

/** Yields the items of lists, one by one. */
export function oneByOne(lists: AsyncGenerator<readonly StreamItem[]>): AsyncGenerator<StreamItem> {
  const items = itemsOf(lists);
  LISTS.set(items, lists);
  return items;
}

/**
 * Returns the lists of a stream that nobody has begun to read, which is then read by them alone; undefined if it has none. Each item of a
 * stream passes some iterators, which takes longer than everything else that a service does for it: a list passes them once.
 */
export function listsOf<Item>(items: AsyncGenerator<Item>): AsyncGenerator<readonly Item[]> | undefined {
  return LISTS.get(items as AsyncGenerator<never>) as AsyncGenerator<readonly Item[]> | undefined;
}

async function* itemsOf(lists: AsyncGenerator<readonly StreamItem[]>): AsyncGenerator<StreamItem> {
  for await (const list of lists) yield* list;
}
