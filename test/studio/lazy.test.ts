import { expect, test } from 'vitest';
import { loadLazily } from '../../studio/lazy.ts';

test('a part of the page that cannot be loaded is asked for more and more rarely, until nobody wants it', async () => {
  const pauses: number[] = [];
  const load = (): Promise<string> => Promise.reject(new Error('404'));
  const found = await loadLazily(
    load,
    () => pauses.length === 8,
    async (ms) => void pauses.push(ms),
  );
  expect(found).toBeUndefined();
  expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test('it is there once the service answers again', async () => {
  let tries = 0;
  const load = async (): Promise<string> => {
    tries += 1;
    if (tries < 3) throw new Error('gone');
    return 'chart';
  };
  expect(
    await loadLazily(
      load,
      () => false,
      async () => undefined,
    ),
  ).toBe('chart');
  expect(tries).toBe(3);
});
