import { expect, test } from 'vitest';
import { costOf } from '../../src/core/domain/usage.ts';
import { contextTokens, priceOf } from '../../src/model/models.ts';

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

test('tokens that a provider writes to its cache cost a quarter more than others, unless the price says another factor', () => {
  const usage = { promptTokens: 1_000_000, completionTokens: 0, totalTokens: 1_000_000, cachedTokens: 200_000, cacheWriteTokens: 300_000 };
  const price = { input: 3, output: 15, cachedInput: 0.3 };
  expect(costOf(usage, price)).toBeCloseTo(0.5 * 3 + 0.2 * 0.3 + 0.3 * 3 * 1.25, 10);
  expect(costOf(usage, { ...price, cacheWrite: 2 })).toBeCloseTo(0.5 * 3 + 0.2 * 0.3 + 0.3 * 3 * 2, 10);
});

test('a call that the provider makes in a batch costs half, unless the price says another factor', () => {
  const usage = { promptTokens: 1_000_000, completionTokens: 1_000_000, totalTokens: 2_000_000 };
  const price = { input: 1, output: 2 };
  expect(costOf(usage, price, { inBatch: true })).toBeCloseTo(1.5, 10);
  expect(costOf(usage, { ...price, batch: 0.8 }, { inBatch: true })).toBeCloseTo(2.4, 10);
});

test.each([
  ['openai/gpt-5-mini', 272_000],
  ['openai/gpt-4.1-nano', 1_000_000],
  ['openai/gpt-4o-mini', 128_000],
  ['openai/gpt-4', 8_192],
  ['openai/gpt-3.5-turbo', 16_385],
  ['openai/o3', 200_000],
  ['anthropic/claude-sonnet', 200_000],
  ['google/gemini-flash', 1_000_000],
])('"%s" takes %d tokens', (model, tokens) => {
  expect(contextTokens(model)).toBe(tokens);
});

test("the prefix of a model's name and the case of its letters do not matter", () => {
  expect(contextTokens('gateway/anthropic/Claude-Opus')).toBe(200_000);
  expect(contextTokens('gpt-4')).toBe(8_192);
});

test.each(['local/llama', 'scripted/model', 'p/', ''])('an unknown model ("%s") gets a usual window', (model) => {
  expect(contextTokens(model)).toBe(128_000);
});
