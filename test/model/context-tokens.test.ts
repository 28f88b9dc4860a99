import { expect, test } from 'vitest';
import { contextTokens } from '../../src/model/models.ts';

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
