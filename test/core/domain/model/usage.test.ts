import { describe, expect, it } from 'vitest';
import { addUsage, noUsage } from '../../../../src/core/domain/usage.ts';

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

  it('counts a call for which the provider reported nothing', () => {
    expect(addUsage(noUsage(), null)).toEqual({ ...noUsage(), llmCalls: 1 });
  });

  it('does not change the usage that it is added to', () => {
    const before = noUsage();
    addUsage(before, { promptTokens: 1, completionTokens: 1, totalTokens: 2 });
    expect(before).toEqual(noUsage());
  });
});
