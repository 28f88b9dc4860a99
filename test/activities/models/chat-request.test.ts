import { describe, expect, test } from 'vitest';
import { says } from '../../fakes/openai-answers.ts';
import { fakeProvider, SEARCH } from './fake-provider.ts';

const { server, ask } = fakeProvider();
const ANSWER = { name: 'answer', schema: { type: 'object', properties: {} }, strict: true };
const SETTINGS = {
  temperature: 0.2,
  maxOutputTokens: 100,
  toolChoice: 'auto' as const,
  parallelToolCalls: false,
  reasoningEffort: 'low',
  extra: { seed: 7, temperature: 1 },
};

describe('a Chat Completions request', () => {
  test('has tools, schema and settings, and additional fields last', async () => {
    await ask(says('hi'), { request: { tools: [SEARCH], output: ANSWER, settings: SETTINGS } });
    expect(server().requests[0]).toMatchObject({ path: '/v1/chat/completions', headers: { authorization: 'Bearer sk-test-0123456789' } });
    expect(server().requests[0]?.body).toEqual({
      model: 'gpt-x',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How far is the Moon?' },
      ],
      tools: [{ type: 'function', function: SEARCH }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: ANSWER },
      temperature: 1,
      max_tokens: 100,
      reasoning_effort: 'low',
      stream: true,
      stream_options: { include_usage: true },
      seed: 7,
    });
  });

  test('leaves out the fields that the server cannot take', async () => {
    const capabilities = {
      strictSchema: false,
      structuredOutput: false,
      parallelTools: false,
      streamUsage: false,
      reasoning: false,
      developerRole: true,
      maxCompletionTokens: true,
    };
    const { name, description, parameters } = SEARCH;
    await ask(says('hi'), {
      options: { capabilities },
      request: { tools: [SEARCH], output: ANSWER, settings: { ...SETTINGS, toolChoice: { tool: 'search_web' }, extra: {} } },
    });
    const schema = 'Answer with JSON alone, without a code fence, that fits this JSON Schema:\n{"type":"object","properties":{}}';
    expect(server().requests[0]?.body).toEqual({
      model: 'gpt-x',
      messages: [
        { role: 'developer', content: `Be brief.\n\n${schema}` },
        { role: 'user', content: 'How far is the Moon?' },
      ],
      tools: [{ type: 'function', function: { name, description, parameters } }],
      tool_choice: { type: 'function', function: { name: 'search_web' } },
      temperature: 0.2,
      max_completion_tokens: 100,
      stream: true,
    });
  });

  test('without tools has no fields for tools', async () => {
    await ask(says('hi'), { request: { settings: SETTINGS } });
    expect(server().requests[0]?.body).not.toHaveProperty('tool_choice');
    expect(server().requests[0]?.body).not.toHaveProperty('parallel_tool_calls');
  });

  test.each(['chat', 'responses'] as const)('is byte-identical for equal requests, over %s', async (api) => {
    const request = { tools: [SEARCH], output: ANSWER, settings: SETTINGS };
    const rebuilt = JSON.parse(JSON.stringify({ settings: SETTINGS, output: ANSWER, tools: [SEARCH] })) as typeof request;
    await ask(says('hi'), { options: { api }, request }).catch(() => undefined);
    await ask(says('hi'), { options: { api }, request: rebuilt }).catch(() => undefined);
    expect(server().requests).toHaveLength(2);
    expect(server().requests[1]?.text).toBe(server().requests[0]?.text);
  });
});
