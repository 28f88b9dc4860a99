import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { CHAT_USAGE, chatChunk, chatCompletion, chatStream, says } from '../../fakes/openai-answers.ts';
import { fakeProvider } from './fake-provider.ts';
import { normalFinishReason, type ServerSentEvent, serverSentEvents, tokenUsage } from '../../../activities/models/openai/exchange.ts';

const { server, ask, askForError } = fakeProvider();
const fn = (name: string, text: unknown): object => ({ name, arguments: text });

describe('a Chat Completions answer', () => {
  test('gives text in pieces and as a whole, with cached and reasoning tokens apart', async () => {
    const pieces: string[] = [];
    const answer = await ask(
      chatStream([{ role: 'assistant', content: null }, { content: '384' }, { content: '' }, { content: ',400 km 🌕' }]),
      {
        context: { onDelta: ({ type, text }) => type === 'text' && pieces.push(text) },
      },
    );
    expect(pieces).toEqual(['384', ',400 km 🌕']);
    expect(answer).toEqual({
      content: '384,400 km 🌕',
      toolCalls: [],
      usage: { promptTokens: 20, completionTokens: 10, totalTokens: 30, cachedTokens: 16, reasoningTokens: 4 },
      finishReason: 'stop',
    });
    expect(server().requests).toHaveLength(1);
  });

  test('gives tool calls that are put together from their chunks', async () => {
    const answer = await ask(
      chatStream(
        [
          { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: fn('f', '') }] },
          { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] },
          { tool_calls: [{ index: 1, id: 'c2', type: 'function', function: fn('g', '{}') }] },
          { tool_calls: [{ index: 0, function: { arguments: '1}' } }] },
        ],
        'tool_calls',
      ),
    );
    expect(answer).toMatchObject({
      toolCalls: [
        { id: 'c1', name: 'f', arguments: '{"a":1}' },
        { id: 'c2', name: 'g', arguments: '{}' },
      ],
      finishReason: 'tool_calls',
    });
  });

  const ONE = [{ id: 'c1', name: 'f', arguments: '{"a":1}' }];
  const TWO = [...ONE, { id: 'c2', name: 'f', arguments: '{"a":1}' }];
  test.each([
    ['no index, id and name in the first chunk only', ONE, [{ id: 'c1', function: fn('f', '{"a"') }, { function: { arguments: ':1}' } }]],
    [
      'no index, id and name in every chunk',
      ONE,
      [
        { id: 'c1', function: fn('f', '{"a"') },
        { id: 'c1', function: fn('f', ':1}') },
      ],
    ],
    [
      'no index, two whole calls',
      TWO,
      [
        { id: 'c1', function: fn('f', '{"a":1}') },
        { id: 'c2', function: fn('f', '{"a":1}') },
      ],
    ],
    [
      'index 0 for both calls',
      TWO,
      [
        { index: 0, id: 'c1', function: fn('f', '{"a":1}') },
        { index: 0, id: 'c2', function: fn('f', '{"a":1}') },
      ],
    ],
    [
      'another id in every chunk',
      ONE,
      [
        { index: 0, id: 'c1', function: fn('f', '{"a"') },
        { index: 0, id: 'x', function: { arguments: ':1}' } },
      ],
    ],
    ['arguments as an object', ONE, [{ index: 0, id: 'c1', function: fn('f', { a: 1 }) }]],
    ['no arguments', [{ id: 'c1', name: 'f', arguments: undefined }], [{ index: 0, id: 'c1', function: { name: 'f' } }]],
    ['no id', [{ id: undefined, name: 'f', arguments: '{}' }], [{ index: 0, function: fn('f', '{}') }]],
    ['null among the calls', ONE, [null, { id: 'c1', function: fn('f', '{"a":1}') }]],
  ])('is understood if the tool calls of a careless server come with %s', async (_, expected, chunks) => {
    const answer = await ask(chatStream(chunks.map((chunk) => ({ tool_calls: [chunk] }))));
    expect(answer.toolCalls).toEqual(expected);
    expect(answer.finishReason).toBe('tool_calls');
  });

  test('is accepted without streaming too, and calls with the same id stay apart', async () => {
    const calls = [1, 2].map((n) => ({ id: 'same', type: 'function', function: fn('f', `{"n":${n}}`) }));
    const pieces: string[] = [];
    const answer = await ask(chatCompletion({ content: 'hm', tool_calls: calls }), {
      context: { onDelta: ({ type, text }) => type === 'text' && pieces.push(text) },
    });
    expect(answer).toMatchObject({ content: 'hm', usage: { totalTokens: CHAT_USAGE.total_tokens }, finishReason: 'tool_calls' });
    expect(answer.toolCalls.map(({ arguments: text }) => text)).toEqual(['{"n":1}', '{"n":2}']);
    expect(pieces).toEqual(['hm']);
  });

  test('is requested without a stream from a server that cannot stream', async () => {
    await ask(chatCompletion({ content: 'hi' }), { options: { capabilities: { streaming: false } } });
    expect(server().requests[0]?.body).not.toHaveProperty('stream');
    expect(server().requests[0]?.body).not.toHaveProperty('stream_options');
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['max_tokens', 'length'],
    ['end_turn', 'stop'],
    ['gave_up', 'gave_up'],
    ['constructor', 'constructor'],
  ])('with the finish reason "%s" has the finish reason "%s"', async (word, expected) => {
    expect((await ask(chatStream([{ content: 'x' }], word))).finishReason).toBe(expected);
  });

  test('that is a refusal is marked as one', async () => {
    expect(await ask(chatStream([{ refusal: "I can't " }, { refusal: 'help.' }]))).toMatchObject({
      content: '',
      refusal: "I can't help.",
      finishReason: 'refusal',
    });
  });

  test('with several choices gives the first', async () => {
    const other = { choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'length' }] };
    const answer = await ask((reply) => {
      reply.events(chatChunk({ content: 'yes' }), other, chatChunk({}, 'stop'), other);
      reply.end();
    });
    expect(answer).toMatchObject({ content: 'yes', finishReason: 'stop', usage: null });
  });

  test('may have text in parts, empty chunks, comments and unusual line breaks', async () => {
    const answer = await ask((reply) => {
      reply.raw(': keep-alive\r\n\r\nevent: x\r\ndata:{"choices":\r\n');
      reply.raw('data: [{"delta":{"content":[{"type":"text","text":"a"},{"type":"thinking"}]}}]}\r\n\r\n');
      reply.raw('data: {"choices":[]}\r\rdata: 5\n\ndata:\n\ndata: {"choices":null}\n\n');
      reply.raw('data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}');
      reply.end();
    });
    expect(answer).toMatchObject({ content: 'ab', finishReason: 'stop' });
  });

  test('ends with its last event, even if the server keeps the connection open', async () => {
    const answer = await ask((reply) => {
      reply.events(chatChunk({ content: 'hi' }), chatChunk({}, 'stop'), { choices: [], usage: CHAT_USAGE });
    });
    expect(answer.content).toBe('hi');
    await server().requests[0]?.closed;
  });

  test('shares its connection with the next calls', async () => {
    for (let round = 0; round < 10; round += 1) await ask(says('hi'));
    expect(server().requests).toHaveLength(10);
    expect(server().connections()).toBeLessThan(5);
  });

  test('without a choice is a bad answer', async () => {
    expect(await askForError((reply) => reply.json(200, { choices: [], usage: CHAT_USAGE }))).toMatchObject({ code: 'model_bad_response' });
    expect(await askForError((reply) => reply.raw('data: [DONE]\n\n'))).toMatchObject({ code: 'model_bad_response' });
  });
});

const CALLS = { toolCalls: 1, refusal: '' };
const TEXT = { toolCalls: 0, refusal: '' };

test.each([
  ['stop', CALLS, 'tool_calls'],
  ['STOP', CALLS, 'tool_calls'],
  [undefined, CALLS, 'tool_calls'],
  ['tool-calls', CALLS, 'tool_calls'],
  ['stop', TEXT, 'stop'],
  ['max_tokens', CALLS, 'length'],
  ['model_length', CALLS, 'length'],
  ['content_filter', CALLS, 'content_filter'],
  ['content_filter: PROHIBITED_CONTENT', TEXT, 'content_filter'],
  ['stop', { toolCalls: 0, refusal: 'No.' }, 'refusal'],
])('"%s" with %j is "%s"', (word, answer, expected) => {
  expect(normalFinishReason(word, answer)).toBe(expected);
});

test.each(['incomplete', 'insufficient_system_resource', 'error'])(
  'an answer that ended with "%s" is not complete even if it has calls',
  (word) => {
    expect(normalFinishReason(word, CALLS)).toBe(word);
  },
);

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

test('a server that does not mention a cache reports no cached tokens', () => {
  expect(tokenUsage({ prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cache_write_tokens: '7' } })).toEqual({
    promptTokens: 1,
    completionTokens: 2,
    totalTokens: 3,
  });
});

async function read(...pieces: string[]): Promise<ServerSentEvent[]> {
  const source = async function* (): AsyncGenerator<string> {
    yield* pieces;
  };
  const events: ServerSentEvent[] = [];
  for await (const event of serverSentEvents(source())) events.push(event);
  return events;
}

test('data lines of one event are joined, and other fields and comments are skipped', async () => {
  expect(await read('\uFEFFdata: a\ndata:b\nevent: x\n: comment\nid: 3\ndatax: no\n\n\n\ndata\n\n')).toEqual([
    { data: 'a\nb', complete: true },
    { data: '', complete: true },
  ]);
});

test('an unfinished event at the end is marked, because it may be cut', async () => {
  expect(await read('data: a\n\ndata: b')).toEqual([
    { data: 'a', complete: true },
    { data: 'b', complete: false },
  ]);
  expect(await read('data: b\n')).toEqual([{ data: 'b', complete: false }]);
});

test('the events are the same for every way to split the stream and every kind of line break', async () => {
  const line = fc.constantFrom('data: a', 'data: b c', ': note', '', '');
  const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(80), { maxLength: 8 }), async (lines, cuts) => {
      const text = lines.map(([content, end]) => content + end).join('');
      const places = [...new Set([0, ...cuts.filter((cut) => cut < text.length)])].toSorted((a, b) => a - b);
      const pieces = places.map((place, index) => text.slice(place, places[index + 1]));
      expect(pieces.join('')).toBe(text);
      expect(await read(...pieces)).toEqual(await read(text));
    }),
  );
});
