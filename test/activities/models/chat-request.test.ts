import { describe, expect, test } from 'vitest';
import { says } from '../../fakes/openai-answers.ts';
import { fakeProvider, SEARCH } from './fake-provider.ts';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import type { ContentItem, ToolResult } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';

const { server, ask } = fakeProvider();
const ANSWER = { name: 'answer', schema: { type: 'object', properties: {} }, strict: true };
const SETTINGS = {
  temperature: 0.2,
  maxOutputTokens: 100,
  toolChoice: 'auto' as const,
  parallelToolCalls: false,
  reasoningEffort: 'low' as const,
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

const user = (content: string): ContentItem => ({ type: 'message', role: 'user', content });
const call = (toolCallId: string): ContentItem => ({ type: 'tool_call', toolCallId, name: 'f', arguments: { z: 1, a: 2 } });
const result = (toolCallId: string, ...content: JsonValue[]): ToolResult => ({
  type: 'tool_result',
  toolCallId,
  name: 'f',
  status: 'success',
  content,
});
const sentCall = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{"z":1,"a":2}' } });

describe('messages of Chat Completions', () => {
  test('each instruction is a separate system message', () => {
    expect(buildChatMessages(['I1', 'I2'], [user('u')])).toEqual([
      { role: 'system', content: 'I1' },
      { role: 'system', content: 'I2' },
      { role: 'user', content: 'u' },
    ]);
  });

  test('instructions and system messages have the role developer if the server wants it', () => {
    expect(buildChatMessages(['I'], [{ type: 'message', role: 'system', content: 's' }], 'developer')).toEqual([
      { role: 'developer', content: 'I' },
      { role: 'developer', content: 's' },
    ]);
  });

  test('consecutive calls join the assistant message before them, with their keys in order', () => {
    const said: ContentItem = { type: 'message', role: 'assistant', content: 'Looking.' };
    expect(buildChatMessages([], [user('u'), said, call('c1'), call('c2')])).toEqual([
      { role: 'user', content: 'u' },
      { role: 'assistant', content: 'Looking.', tool_calls: [sentCall('c1'), sentCall('c2')] },
    ]);
  });

  test('a call without a message before it opens one with null content', () => {
    expect(buildChatMessages([], [user('u'), call('c1')])).toEqual([
      { role: 'user', content: 'u' },
      { role: 'assistant', content: null, tool_calls: [sentCall('c1')] },
    ]);
  });

  test('a call after a result opens a new message', () => {
    expect(buildChatMessages([], [call('c1'), result('c1', 'r1'), call('c2')]).map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'assistant',
    ]);
  });

  test.each([
    ['text', ['first', 'second'], 'first'],
    ['nothing', [], ''],
    ['an object', [{ b: 1, a: [2] }], '{"b":1,"a":[2]}'],
    ['a number', [7], '7'],
    ['null', [null], 'null'],
  ] as [string, JsonValue[], string][])('a result is sent as its first value: %s', (_, content, expected) => {
    expect(buildChatMessages([], [result('c1', ...content)])).toEqual([{ role: 'tool', tool_call_id: 'c1', content: expected }]);
  });

  test('media in results follow the whole batch as a message of the user', () => {
    const image = { type: 'image', data: 'AAAA', mediaType: 'image/jpeg' };
    expect(buildChatMessages([], [result('c1', 'a chart', image), result('c2', { ...image, width: 2, height: 3 }), user('next')])).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'a chart' },
      { role: 'tool', tool_call_id: 'c2', content: '[Image: 2x3]' },
      { role: 'user', content: [1, 2].map(() => ({ type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA' } })) },
      { role: 'user', content: 'next' },
    ]);
  });

  test('notes on results follow the whole batch as a text of the user, and the results stay what they are', () => {
    const noted = [
      { ...result('c1', 'paid 5'), notes: ['mind the gap', 'and the step'] },
      { ...result('c2', 'seen'), notes: ['it is old'] },
    ];
    const tools = [
      { role: 'tool', tool_call_id: 'c1', content: 'paid 5' },
      { role: 'tool', tool_call_id: 'c2', content: 'seen' },
    ];
    const texts = [
      'About the call of "f" (c1): mind the gap',
      'About the call of "f" (c1): and the step',
      'About the call of "f" (c2): it is old',
    ];
    expect(buildChatMessages([], noted)).toEqual([...tools, { role: 'user', content: texts.join('\n') }]);
    expect(buildChatMessages([], [...noted, user('next')])).toEqual([
      ...tools,
      { role: 'user', content: texts.join('\n') },
      { role: 'user', content: 'next' },
    ]);
  });

  test('notes and media of a batch share a message of the user', () => {
    const image = { type: 'image', data: 'AAAA', mediaType: 'image/jpeg' };
    expect(buildChatMessages([], [{ ...result('c1', image), notes: ['mind the gap'] }]).at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'About the call of "f" (c1): mind the gap' },
        { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA' } },
      ],
    });
  });

  test('parts of a user message become content parts, or text if the API has no such part', () => {
    const [message] = buildChatMessages(
      [],
      [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', url: 'https://example.com/a.png' },
            { type: 'audio', data: 'BBBB', mediaType: 'audio/mpeg' },
            { type: 'file', data: 'CCCC', mediaType: 'application/pdf', name: 'a.pdf' },
            { type: 'file', url: 'https://example.com/b.pdf', name: 'b.pdf' },
            { type: 'video', url: 'https://example.com/c.mp4' },
          ],
        },
      ],
    );
    expect(message?.content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
      { type: 'text', text: '[File: b.pdf] https://example.com/b.pdf' },
      { type: 'text', text: '[Video] https://example.com/c.mp4' },
    ]);
  });

  test('lone surrogates never reach a provider', () => {
    expect(buildChatMessages(['a\ud800'], [user('b\udc00'), result('c1', '\ud83d')]).map(({ content }) => content)).toEqual([
      'a\ufffd',
      'b\ufffd',
      '\ufffd',
    ]);
  });
});
