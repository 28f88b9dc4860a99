import { expect, test } from 'vitest';
import { tokenUsage } from '../../../activities/models/openai/exchange.ts';

test('tokens read from and written to a cache are reported by either API', () => {
  const details = { cached_tokens: 16, cache_write_tokens: 100 };
  const cache = { cachedTokens: 16, cacheWriteTokens: 100 };
  expect(tokenUsage({ prompt_tokens: 194, completion_tokens: 2, total_tokens: 196, prompt_tokens_details: details })).toEqual({
    promptTokens: 194,
    completionTokens: 2,
    totalTokens: 196,
    ...cache,
  });
  expect(tokenUsage({ input_tokens: 194, output_tokens: 2, input_tokens_details: details })).toMatchObject(cache);
});

test('a server that says nothing of a cache reports none', () => {
  expect(tokenUsage({ prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cache_write_tokens: '7' } })).toEqual({
    promptTokens: 1,
    completionTokens: 2,
    totalTokens: 3,
  });
});
