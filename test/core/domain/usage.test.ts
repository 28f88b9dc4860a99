import { describe, expect, it, test } from 'vitest';
import { addSpent, addUsage, noUsage, roundedDollars, spentIn } from '../../../src/core/domain/usage.ts';

describe('the usage of a run', () => {
  it('is the sum over its calls, cached and reasoning tokens kept apart', () => {
    const first = { promptTokens: 10, completionTokens: 5, totalTokens: 15, cachedTokens: 8 };
    const second = { promptTokens: 1, completionTokens: 1, totalTokens: 2, reasoningTokens: 1 };
    expect([first, second].reduce(addUsage, noUsage())).toEqual({
      promptTokens: 11,
      completionTokens: 6,
      totalTokens: 17,
      cachedTokens: 8,
      reasoningTokens: 1,
      llmCalls: 2,
    });
  });

  it('has tokens written to a cache once a provider reports some', () => {
    const call = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
    expect([call].reduce(addUsage, noUsage())).not.toHaveProperty('cacheWriteTokens');
    const written = [{ ...call, cacheWriteTokens: 7 }, call, { ...call, cacheWriteTokens: 2 }].reduce(addUsage, noUsage());
    expect(written).toMatchObject({ promptTokens: 30, cacheWriteTokens: 9, cachedTokens: 0 });
  });

  it('counts a call without usage from the provider', () => {
    expect(addUsage(noUsage(), null)).toEqual({ ...noUsage(), llmCalls: 1 });
  });

  it('does not change the usage that it is added to', () => {
    const before = noUsage();
    addUsage(before, { promptTokens: 1, completionTokens: 1, totalTokens: 2 });
    expect(before).toEqual(noUsage());
  });
});

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

test('the costs of attempts of several models are added; other attempts have no cost, because the run has the price', () => {
  const priced = { reported: { ...usage, costUsd: 1 } };
  expect(addSpent(priced, priced)?.reported).toHaveProperty('costUsd', 2);
  expect(addSpent(priced, { reported: usage })?.reported).toHaveProperty('costUsd', 1);
  expect(addSpent({ reported: usage }, { reported: usage })?.reported).not.toHaveProperty('costUsd');
  expect(spentIn({ spent: priced })).toEqual(priced);
  for (const costUsd of [-1, Number.NaN, '1', null])
    expect(spentIn({ spent: { reported: { ...usage, costUsd } } })).toEqual({ reported: usage });
});

test('details with usage are read, and other fields in them are ignored', () => {
  expect(spentIn({ spent: { reported: usage, more: 1 }, text: 'half' })).toEqual({ reported: usage });
  for (const other of [undefined, null, 7, 'spent', [], {}, { spent: null }, { spent: { reported: { promptTokens: '3' } } }]) {
    expect(spentIn(other)).toBeUndefined();
  }
});

test.each([
  [0.1 + 0.2, 0.3],
  [0.0015, 0.0015],
  [1.0000001, 1.000001],
  [0.00000012, 0.000001],
  [130, 130],
])('%d dollars are rounded to %d, and never below the amount', (amount, rounded) => {
  expect(roundedDollars(amount)).toBe(rounded);
});
