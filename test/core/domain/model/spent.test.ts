import { expect, test } from 'vitest';
import { addSpent, spentIn } from '../../../../src/core/domain/usage.ts';

const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5 };

test('reported and estimated usage add up separately', () => {
  const one = { reported: { ...usage, cachedTokens: 1 } };
  const other = { reported: { ...usage, cacheWriteTokens: 3, reasoningTokens: 2 }, estimated: usage };
  const reported = { promptTokens: 6, completionTokens: 4, totalTokens: 10, cachedTokens: 1, cacheWriteTokens: 3, reasoningTokens: 2 };
  expect(addSpent(one, other)).toEqual({ reported, estimated: usage });
  expect(addSpent(undefined, one)).toBe(one);
  expect(addSpent(one, undefined)).toBe(one);
  expect(addSpent(undefined, undefined)).toBeUndefined();
});

test('costs are not added: the run has the prices', () => {
  const priced = { reported: { ...usage, costUsd: 1 } };
  expect(addSpent(priced, priced)?.reported).not.toHaveProperty('costUsd');
  expect(spentIn({ spent: priced })?.reported).not.toHaveProperty('costUsd');
});

test('details with usage are read, and other fields in them are ignored', () => {
  expect(spentIn({ spent: { reported: usage, more: 1 }, text: 'half' })).toEqual({ reported: usage });
  for (const other of [undefined, null, 7, 'spent', [], {}, { spent: null }, { spent: { reported: { promptTokens: '3' } } }]) {
    expect(spentIn(other)).toBeUndefined();
  }
});
