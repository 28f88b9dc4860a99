import { expect, test } from 'vitest';
import { aiSdk } from '../../../activities/models/ai-sdk/ai-sdk.ts';
import type { AiSdkModel, StreamPart } from '../../../activities/models/ai-sdk/language-model.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { reportRateLimits } from '../../../activities/models/rate-limits.ts';
import type { ModelRequest, RateLimits } from '../../../src/core/domain/model.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';

const REQUEST: ModelRequest = { model: 'm', instructions: [], conversation: [], tools: [], settings: {} };

test.each<[what: string, headers: Record<string, string>, reported: RateLimits | undefined]>([
  [
    'of OpenAI',
    { 'x-ratelimit-limit-requests': '500', 'X-RateLimit-Limit-Tokens': '30000' },
    { requestsPerMinute: 500, tokensPerMinute: 30_000 },
  ],
  ['of Anthropic', { 'anthropic-ratelimit-requests-limit': '50' }, { requestsPerMinute: 50 }],
  ['that name nothing', { 'retry-after': '3' }, undefined],
  ['with nonsense', { 'x-ratelimit-limit-requests': 'many', 'x-ratelimit-limit-tokens': '-1' }, undefined],
])('headers %s', (_, headers, expected) => {
  let reported: RateLimits | undefined;
  reportRateLimits(headers, (limits) => (reported = limits));
  expect(reported).toEqual(expected);
});

test('openai() and aiSdk() report the limits that the headers of an answer name', async () => {
  const reported: RateLimits[] = [];
  const context = { signal: new AbortController().signal, onRateLimits: (limits: RateLimits) => void reported.push(limits) };
  const headers = { 'x-ratelimit-limit-requests': '60' };
  const message = { role: 'assistant', content: 'done' };
  const server = await startFakeOpenAI((reply) => reply.json(200, { choices: [{ index: 0, message, finish_reason: 'stop' }] }, headers));
  try {
    await openai({ baseURL: server.url, apiKey: 'k', api: 'chat' }).call(REQUEST, context);
  } finally {
    await server.close();
  }
  const parts = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'done' },
    { type: 'text-end', id: '1' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: {}, outputTokens: {} } },
  ] as unknown as StreamPart[];
  const model: AiSdkModel = {
    specificationVersion: 'v4',
    provider: 'p',
    modelId: 'm',
    supportedUrls: {},
    doStream: () => Promise.resolve({ stream: ReadableStream.from(parts), response: { headers: { 'X-RateLimit-Limit-Requests': '70' } } }),
  };
  await aiSdk(() => model).call(REQUEST, context);
  expect(reported).toEqual([{ requestsPerMinute: 60 }, { requestsPerMinute: 70 }]);
});
