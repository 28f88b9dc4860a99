import { expect, test } from 'vitest';
import { loadLazily } from '../../studio/lazy.ts';
import { isOutdated, missingParts } from '../../studio/version.ts';

test('a part of the page that cannot be loaded is requested less and less often, until nobody needs it', async () => {
  const pauses: number[] = [];
  const load = (): Promise<string> => Promise.reject(new Error('404'));
  const found = await loadLazily(
    load,
    () => pauses.length === 8,
    async (ms) => void pauses.push(ms),
  );
  expect(found).toBeUndefined();
  expect(missingParts.value).toBe(0);
  expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test('it loads once the service answers again, and says nothing about the version of the service', async () => {
  isOutdated.value = true;
  const missing: number[] = [];
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
      async () => void missing.push(missingParts.value),
    ),
  ).toBe('chart');
  expect(tries).toBe(3);
  expect([missing, missingParts.value, isOutdated.value]).toEqual([[1, 1], 0, true]);
});
