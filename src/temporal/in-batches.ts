/** Does the work for items, `size` of them at once, and yields the results in the order of the items. */
export async function* inBatches<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  size: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield* await Promise.all(batch.map((one) => work(one)));
    batch = [];
  }
  yield* await Promise.all(batch.map((one) => work(one)));
}
