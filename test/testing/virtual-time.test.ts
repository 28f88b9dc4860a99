import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { VirtualTime } from '../../src/testing/memory/virtual-time.ts';

const DAY = 24 * 3_600_000;
let acts: (() => boolean)[] = [];
let stuck = 0;
let time = begin();

function begin(): VirtualTime {
  acts = [];
  stuck = 0;
  return new VirtualTime({
    act: async () => acts.shift()?.() ?? false,
    stuck: () => {
      stuck += 1;
    },
  });
}

afterEach(() => {
  time.end();
  time = begin();
});

test('time jumps to the nearest timer, and from there to the next', async () => {
  const start = time.now();
  const order: string[] = [];
  await Promise.all([
    time.sleepUntil(start + 2 * DAY).then(() => order.push('second')),
    time.sleepUntil(start + DAY).then(() => order.push(time.now() < start + DAY + 1_000 ? 'first' : 'late')),
  ]);
  expect(order).toEqual(['first', 'second']);
});

test('time does not jump during real work, and passes meanwhile', async () => {
  const start = time.now();
  let isOver = false;
  const soon = time.sleepUntil(start + 20);
  void time.sleepUntil(start + DAY).then(() => (isOver = true));
  await time.during(
    (async () => {
      await soon;
      await sleep(20);
      expect(isOver).toBe(false);
    })(),
  );
  expect(time.now()).toBeLessThan(start + DAY);
});

test('callers act before time jumps, as long as they have requests', async () => {
  const start = time.now();
  let met = false;
  acts = [() => true, () => (met = true)];
  await time.until(() => met, start + DAY);
  expect(time.now()).toBeLessThan(start + DAY);
});

test('a wait ends at its deadline if no other event comes', async () => {
  const start = time.now();
  await time.until(() => false, start + DAY);
  expect(time.now()).toBeGreaterThanOrEqual(start + DAY);
});

test('time does not jump for a wait that was given up', async () => {
  const over = new AbortController();
  const start = time.now();
  const wait = time.sleepUntil(start + DAY, over.signal);
  over.abort();
  await wait;
  expect(time.now()).toBeLessThan(start + DAY);
});

test('reports an error if no event can ever come', async () => {
  void time.until(() => false);
  await sleep(10);
  expect(stuck).toBeGreaterThan(0);
});
