import { expect, test } from 'vitest';
import { costOf } from '../../src/core/domain/usage.ts';
import { priceOf } from '../../src/model/models.ts';

test('a model of the list has its list price', () => {
  expect(priceOf('openai/gpt-4o-mini')).toEqual({ input: 0.15, cachedInput: 0.075, output: 0.6 });
});

test.each(['openai/gpt-4o-2024-05-13', 'azure/gpt-4o', 'gpt-4o', 'openai/gpt-4', 'toString', 'openai/', ''])(
  'the price of "%s" is unknown, however similar its name is to a model of the list',
  (model) => {
    expect(priceOf(model)).toBeUndefined();
  },
);

test('prices of the worker win over the list, and add to it', () => {
  const overrides = { 'openai/gpt-4o': { input: 1, output: 2 }, 'gateway/vendor/model': { input: 0, output: 0 } };
  expect(priceOf('openai/gpt-4o', overrides)).toEqual({ input: 1, output: 2 });
  expect(priceOf('gateway/vendor/model', overrides)).toEqual({ input: 0, output: 0 });
  expect(priceOf('openai/o3', overrides)).toEqual({ input: 2, cachedInput: 0.5, output: 8 });
});

test('prices are dollars per million tokens, and cached tokens are cheaper', () => {
  const usage = { promptTokens: 1_000_000, completionTokens: 100_000, totalTokens: 1_100_000, cachedTokens: 400_000 };
  const price = priceOf('openai/gpt-4.1') ?? { input: 0, output: 0 };
  expect(costOf(usage, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 8, 10);
});
