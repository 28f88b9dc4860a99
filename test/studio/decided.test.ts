import { expect, test } from 'vitest';
import { Decided, keyOf } from '../../studio/decided.ts';

const call = (digest: string): Parameters<Decided['add']>[0] => ({ runId: 'r', callId: 'c', toolName: 'refund', digest });
const KEY = keyOf(call(''));

test('a call that was decided here is known as decided while it still waits, and when it is gone', () => {
  const decided = new Decided();
  decided.add(call('1'));
  decided.see([call('1')]);
  expect(decided.has(KEY)).toBe(true);
  decided.see([]);
  decided.see([]);
  expect(decided.has(KEY)).toBe(true);
});

test('a call that waits again after it was gone, or with other arguments, was not decided here', () => {
  const decided = new Decided();
  decided.add(call('1'));
  decided.see([]);
  decided.see([call('1')]);
  expect(decided.has(KEY)).toBe(false);
  decided.add(call('1'));
  decided.see([call('2')]);
  expect(decided.has(KEY)).toBe(false);
});
