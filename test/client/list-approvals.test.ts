import { expect, test } from 'vitest';
import { SeenApprovals } from '../../src/client/approvals.ts';

test('a pending approval is reported once, and forgotten once it has been in no list for a while', () => {
  const seen = new SeenApprovals();
  const [first, second] = [
    { runId: 'r1', key: 'k1' },
    { runId: 'r1', key: 'k2' },
  ];
  expect([seen.has(first, 0), seen.has(second, 0), seen.has(first, 1_000)]).toEqual([false, false, true]);
  seen.forgetBefore(500);
  expect(seen.size).toBe(1);
  expect(seen.has(first, 2_000)).toBe(true);
  expect(seen.has({ runId: 'r2', key: 'k1' }, 2_000)).toBe(false);
});
