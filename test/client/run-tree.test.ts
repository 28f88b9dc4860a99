import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeByTime } from '../../src/client/run-tree.ts';

interface Item {
  timestamp: string;
  of: number;
  index: number;
}

/** The time this many seconds after 1970. */
function at(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

async function* sequence(times: readonly number[], of: number): AsyncGenerator<Item> {
  for (const [index, timestamp] of times.entries()) yield { timestamp: at(timestamp), of, index };
}

async function merged(lists: readonly (readonly number[])[]): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of mergeByTime(lists.map(sequence))) items.push(item);
  return items;
}

test('sequences in the order of their times are merged to one in that order', async () => {
  const times = fc.array(fc.integer({ min: 0, max: 20 }));
  await fc.assert(
    fc.asyncProperty(fc.array(times, { maxLength: 6 }), async (lists) => {
      const items = await merged(lists.map((list) => list.toSorted((a, b) => a - b)));
      expect(items.map(({ timestamp }) => timestamp)).toEqual(
        lists
          .flat()
          .toSorted((a, b) => a - b)
          .map(at),
      );
    }),
  );
});

test('items of one sequence keep their order, whatever their times are', async () => {
  const items = await merged([[5, 1, 9], [4]]);
  expect(items.map(({ of, index }) => `${of}.${index}`)).toEqual(['1.0', '0.0', '0.1', '0.2']);
});

test('a reader that stops ends all sequences', async () => {
  let ended = 0;
  async function* endless(): AsyncGenerator<{ timestamp: string }> {
    try {
      for (let second = 0; ; second += 1) yield { timestamp: at(second) };
    } finally {
      ended += 1;
    }
  }
  for await (const { timestamp } of mergeByTime([endless(), endless()])) if (timestamp > at(2)) break;
  expect(ended).toBe(2);
});
