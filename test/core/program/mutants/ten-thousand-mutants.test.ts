import { expect, it } from 'vitest';
import { countFates } from './judge-mutant.ts';

it('ten thousand mutated documents are refused with their problems, or run to an end', { timeout: 600_000 }, async () => {
  const { refused, completed, failed, limited } = await countFates(1, 10_000);
  expect(refused + completed + failed + limited).toBe(10_000);
  expect(completed + failed + limited).toBeGreaterThan(2_000);
});
