/** Does the work for every item, `limit` at a time, and returns the results in the order of the items. */
export async function atOnce<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const takeOn = async (): Promise<void> => {
    for (const [place, item] of queue) results[place] = await work(item, place);
  };
  await Promise.all(Array.from({ length: limit }, takeOn));
  return results;
}
