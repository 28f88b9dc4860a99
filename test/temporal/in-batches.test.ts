import { expect, test } from 'vitest';
import { inBatches } from '../../src/temporal/waiting.ts';

test('work for items is done in batches, and its results come in the order of the items', async () => {
  let running = 0;
  let most = 0;
  const work = async (item: number): Promise<string> => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = item; turn < 7; turn += 1) await Promise.resolve();
    running -= 1;
    return `r${item}`;
  };
  expect(await Array.fromAsync(inBatches([1, 2, 3, 4, 5, 6, 7], 3, work))).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7']);
  expect(most).toBe(3);
});

test('a batch begins once the previous one was read, and no further item is taken meanwhile', async () => {
  const begun: number[] = [];
  const results = inBatches([1, 2, 3, 4, 5], 2, (item) => Promise.resolve(begun.push(item)));
  await results.next();
  expect(begun).toEqual([1, 2]);
  await results.next();
  expect(begun).toEqual([1, 2]);
  await results.next();
  expect(begun).toEqual([1, 2, 3, 4]);
});

test('the first failure ends the work', async () => {
  const failing = inBatches([1, 2, 3], 2, (item) => (item === 2 ? Promise.reject(new Error('no')) : Promise.resolve(item)));
  await expect(Array.fromAsync(failing)).rejects.toThrow('no');
});
