/** Merges sequences by time, in ISO 8601 with the same number of digits. The items of one sequence keep their order; at equal times, those of the earlier sequence come first. */
export async function* mergeByTime<Item extends { timestamp: string }>(sequences: readonly AsyncGenerator<Item>[]): AsyncGenerator<Item> {
  try {
    const heads: (Item | undefined)[] = [];
    for (const sequence of sequences) heads.push(await next(sequence));
    for (;;) {
      let first: number | undefined;
      for (const [index, head] of heads.entries()) {
        if (head === undefined) continue;
        const before = first === undefined ? undefined : heads[first];
        if (before === undefined || head.timestamp < before.timestamp) first = index;
      }
      const item = first === undefined ? undefined : heads[first];
      const sequence = first === undefined ? undefined : sequences[first];
      if (first === undefined || item === undefined || sequence === undefined) return;
      yield item;
      heads[first] = await next(sequence);
    }
  } finally {
    await Promise.all(sequences.map((sequence) => sequence.return(undefined)));
  }
}

async function next<Item>(sequence: AsyncGenerator<Item>): Promise<Item | undefined> {
  const { done, value } = await sequence.next();
  return done ? undefined : value;
}
