import { describe, expect, test } from 'vitest';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { responsesStream, says } from '../../fakes/openai-answers.ts';
import { fakeProvider } from './fake-provider.ts';

const { server, ask } = fakeProvider();
const DONE = responsesStream([{ type: 'message', content: [{ type: 'output_text', text: 'Done.' }] }]);
const cache = { key: 'a-digest' };
const both = { promptCacheKey: true, cacheBreakpoints: true };

const user = (content: string): ContentItem => ({ type: 'message', role: 'user', content });
const call = (toolCallId: string): ContentItem => ({ type: 'tool_call', toolCallId, name: 'f', arguments: {} });
const result = (toolCallId: string): ContentItem => ({
  type: 'tool_result',
  toolCallId,
  name: 'f',
  status: 'success',
  content: [`of ${toolCallId}`],
});
const event = (...content: ContentItem[]): ModelRequest['conversation'][number] => ({ author: 'clerk', content });

/** Two steps, of two calls each. */
const CONVERSATION = [
  event(user('Look.')),
  event({ type: 'message', role: 'assistant', content: 'I look.' }, call('a'), call('b')),
  event(result('a'), result('b')),
  event(call('c'), call('d')),
  event(result('c'), result('d')),
];
const request = { model: 'gpt-5.6', instructions: ['Be brief.', 'Be kind.'], conversation: CONVERSATION };

/** The texts that end with a mark. */
function marked(body: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(body, (_, value: unknown) => {
    if (typeof value === 'object' && value !== null && 'prompt_cache_breakpoint' in value)
      found.push(String((value as { text?: string }).text));
    return value;
  });
  return found;
}

const sent = (): Record<string, unknown> => server().requests.at(-1)?.body as Record<string, unknown>;

describe.each(['chat', 'responses'] as const)('a request of %s', (api) => {
  const answer = api === 'chat' ? says('Done.') : DONE;
  const asked = (model: string, capabilities = {}): Promise<unknown> =>
    ask(answer, { options: { api, capabilities }, request: { ...request, model }, context: { cache } });

  test.each([
    ['gpt-5.6', both, ['Be kind.', 'of b', 'of d']],
    ['openai/gpt-6-mini', both, ['Be kind.', 'of b', 'of d']],
    ['gpt-5.5', both, []],
    ['llama-5.6', both, []],
    ['gpt-5.6', { promptCacheKey: true }, []],
  ])('of %s with %j marks the ends of the parts to cache: %j', async (model, capabilities, ends) => {
    await asked(model, capabilities);
    expect(marked(sent())).toEqual(ends);
    expect(sent()['prompt_cache_key']).toBe('a-digest');
  });

  test('begins with the same parts as the previous request, except for marks', async () => {
    const items = async (count: number): Promise<unknown[]> => {
      await ask(answer, {
        options: { api, capabilities: both },
        request: { ...request, conversation: CONVERSATION.slice(0, count) },
        context: { cache },
      });
      const list = sent()[api === 'chat' ? 'messages' : 'input'];
      return JSON.parse(
        JSON.stringify(list, (name, value: unknown) => (name === 'prompt_cache_breakpoint' ? undefined : value)),
      ) as unknown[];
    };
    const [first, second, third] = [await items(1), await items(3), await items(5)];
    expect(second.slice(0, first.length)).toEqual(first);
    expect(third.slice(0, second.length)).toEqual(second);
  });

  test('to another server has neither, also where the run has no cache', async () => {
    await asked('gpt-5.6');
    await ask(answer, { options: { api, capabilities: both }, request });
    expect(server().requests[0]?.body).not.toHaveProperty('prompt_cache_key');
    expect(marked(server().requests[0]?.body)).toEqual([]);
    expect(sent()).not.toHaveProperty('prompt_cache_key');
  });

  test.each([
    ['prompt_cache_key', ['Be kind.', 'of b', 'of d']],
    ['prompt_cache_breakpoint', []],
  ])('whose server refuses %s is resent without it', async (field, ends) => {
    const refusal = { error: { message: `Unknown parameter: '${field}'.`, type: 'invalid_request_error' } };
    server().script((reply) => reply.json(400, refusal), answer);
    const { openai } = await import('../../../activities/models/openai/openai.ts');
    const client = openai({ apiKey: 'sk-test-0123456789', baseURL: server().url, api, capabilities: both });
    const { notices } = await client.call({ tools: [], settings: {}, ...request }, { signal: AbortSignal.timeout(5_000), cache });
    expect(notices).toMatchObject([{ code: 'request_adapted' }]);
    expect(marked(sent())).toEqual(ends);
    expect('prompt_cache_key' in sent()).toBe(field !== 'prompt_cache_key');
  });
});

test('tokens that were written to the cache are counted', async () => {
  const usage = {
    input_tokens: 20,
    output_tokens: 1,
    total_tokens: 21,
    input_tokens_details: { cached_tokens: 5, cache_write_tokens: 12 },
  };
  const { usage: counted } = await ask(responsesStream([{ type: 'message', content: [{ type: 'output_text', text: 'A' }] }], { usage }), {
    options: { api: 'responses' },
  });
  expect(counted).toMatchObject({ promptTokens: 20, cachedTokens: 5, cacheWriteTokens: 12 });
});
