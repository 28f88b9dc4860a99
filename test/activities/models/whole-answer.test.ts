import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ChatAnswer } from '../../../activities/models/openai/chat-answer.ts';
import { CHAT_USAGE, chatChunk } from '../../fakes/openai-answers.ts';
import type { Reply } from '../../fakes/openai-server.ts';
import { fakeProvider } from './fake-provider.ts';

const { ask, askForError } = fakeProvider();
const DONE = 'data: [DONE]\n\n';
const LAST = { choices: [], usage: CHAT_USAGE };
const early = (delta: Record<string, unknown>, word = 'stop'): Record<string, unknown> => ({
  ...chatChunk(delta, word),
  usage: CHAT_USAGE,
});
const call = (index: number): Record<string, unknown> => ({
  tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: `{"n":${index}}` } }],
});

describe('a Chat answer is read to its end', () => {
  test.each<[string, unknown[], { content?: string; calls?: number; finishReason: string }]>([
    [
      'usage in every chunk',
      [{ ...chatChunk({ content: 'a' }), usage: CHAT_USAGE }, early({ content: 'b' })],
      { content: 'ab', finishReason: 'stop' },
    ],
    [
      'a finish reason with each piece of text',
      [early({ content: 'a' }), early({ content: 'b' }), early({ content: 'c' })],
      { content: 'abc', finishReason: 'stop' },
    ],
    [
      'a finish reason with each call',
      [early(call(0), 'tool_calls'), early(call(1), 'tool_calls')],
      { calls: 2, finishReason: 'tool_calls' },
    ],
    [
      'calls after the finish reason of the text',
      [early({ content: 'a' }), early(call(0), 'tool_calls')],
      { content: 'a', calls: 1, finishReason: 'tool_calls' },
    ],
    [
      'a call after a finish reason without usage',
      [chatChunk({ content: 'a' }, 'stop'), chatChunk(call(0), 'stop')],
      { calls: 1, finishReason: 'tool_calls' },
    ],
    [
      'arguments after the finish reason',
      [
        chatChunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"n"' } }] }, 'tool_calls'),
        early({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }, 'tool_calls'),
      ],
      { calls: 1, finishReason: 'tool_calls' },
    ],
    [
      'text after the usage',
      [chatChunk({ content: 'a' }, 'stop'), LAST, chatChunk({ content: 'b' }, 'stop')],
      { content: 'ab', finishReason: 'stop' },
    ],
    [
      'a finish reason and an empty one after it',
      [chatChunk({ content: 'a' }, 'length'), chatChunk({}, '')],
      { content: 'a', finishReason: 'length' },
    ],
    [
      '"stop" after "length", as routers add it',
      [chatChunk({ content: 'a' }, 'length'), chatChunk({}, 'stop'), LAST],
      { content: 'a', finishReason: 'length' },
    ],
    ['"length" behind "stop"', [early({ content: 'a' }), early({ content: 'b' }, 'length')], { content: 'ab', finishReason: 'length' }],
    ['no finish reason before the end mark', [chatChunk({ content: 'a' })], { content: 'a', finishReason: 'stop' }],
    [
      'a finish reason for each choice with a call',
      [
        { choices: [{ index: 0, delta: call(0), finish_reason: 'tool_calls' }] },
        { choices: [{ index: 1, delta: call(1), finish_reason: 'tool_calls' }] },
      ],
      { calls: 2, finishReason: 'tool_calls' },
    ],
    [
      'the whole message again at the end',
      [chatChunk({ content: 'a' }), { choices: [{ index: 0, delta: {}, message: { content: 'a' }, finish_reason: 'stop' }] }],
      { content: 'a', finishReason: 'stop' },
    ],
    [
      'a whole message at the end that has more than the chunks',
      [chatChunk({ content: 'a' }), { choices: [{ index: 0, message: { content: 'ab' }, finish_reason: 'stop' }] }],
      { content: 'ab', finishReason: 'stop' },
    ],
    [
      'a message with its own piece in each chunk',
      ['a', 'b'].map((content) => ({ choices: [{ index: 0, delta: { content }, message: { content }, finish_reason: 'stop' }] })),
      { content: 'ab', finishReason: 'stop' },
    ],
  ])('with %s', async (_, chunks, { calls = 0, content, finishReason }) => {
    const answer = await ask(async (reply) => {
      for (const chunk of chunks) {
        reply.events(chunk);
        await sleep(5);
      }
      reply.raw(DONE);
      reply.end();
    });
    expect(answer.toolCalls).toHaveLength(calls);
    expect(answer).toMatchObject({ finishReason, ...(content === undefined ? {} : { content }) });
  });
});

describe('without the end mark', () => {
  test.each<[string, (reply: Reply) => void, string]>([
    ['the end of the body after a finish reason', (reply) => reply.events(chatChunk({ content: 'a' }, 'stop')), 'a'],
    ['the end of the body after the usage', (reply) => reply.events(chatChunk({ content: 'a' }, 'stop'), LAST), 'a'],
    [
      'the end of the body after finish reasons with every piece',
      (reply) => reply.events(early({ content: 'a' }), early({ content: 'b' })),
      'ab',
    ],
    ['a part of the end mark', (reply) => (reply.events(chatChunk({ content: 'a' }, 'stop')), reply.raw('data: [DO')), 'a'],
  ])('%s completes the answer', async (_, send, content) => {
    const answer = await ask((reply) => {
      send(reply);
      reply.end();
    });
    expect(answer.content).toBe(content);
  });

  test.each<[string, (reply: Reply) => void]>([
    ['the end of the body without a finish reason', (reply) => reply.events(chatChunk({ content: 'a' }))],
    ['text after the last finish reason', (reply) => reply.events(early({ content: 'a' }), chatChunk({ content: 'b' }))],
    ['a call after the last finish reason', (reply) => reply.events(early({ content: 'a' }), chatChunk(call(0)))],
    ['the beginning of an event', (reply) => (reply.events(early({ content: 'a' })), reply.raw('data: {"choices":[{"del'))],
    [
      'a choice with a call that has no finish reason',
      (reply) => reply.events(chatChunk({ content: 'a' }, 'stop'), { choices: [{ index: 1, delta: call(0) }] }),
    ],
  ])('%s is a cut answer', async (_, send) => {
    const failure = await askForError((reply) => {
      send(reply);
      reply.end();
    });
    expect(failure.code).toBe('model_unreachable');
  });

  test('a connection that breaks after a finish reason has lost nothing', async () => {
    const answer = await ask(async (reply) => {
      reply.events(chatChunk({ content: 'a' }), chatChunk({}, 'stop'));
      await sleep(20);
      reply.reset();
    });
    expect(answer.content).toBe('a');
  });

  test('a connection that breaks may have lost something if an earlier finish reason was not the end', async () => {
    const failure = await askForError(async (reply) => {
      reply.events(early({ content: 'a' }), early({ content: 'b' }));
      await sleep(20);
      reply.reset();
    });
    expect(failure.code).toBe('model_unreachable');
  });

  test('a message at the end with another text than the chunks is a bad answer', async () => {
    const failure = await askForError((reply) => {
      reply.events(chatChunk({ content: 'Yes.' }), { choices: [{ index: 0, message: { content: 'No.' }, finish_reason: 'stop' }] });
      reply.end();
    });
    expect(failure).toMatchObject({ code: 'model_bad_response', message: expect.stringContaining('another text') });
  });

  test('an error after a finish reason is an error', async () => {
    const failure = await askForError((reply) => {
      reply.events(chatChunk({ content: 'a' }, 'stop'), { error: { message: 'overloaded', code: 503 } });
      reply.end();
    });
    expect(failure).toMatchObject({ code: 'model_server_error', message: expect.stringContaining('overloaded') });
  });

  test.each<[string, unknown[], number | undefined]>([
    ['nothing yet', [], undefined],
    ['text', [chatChunk({ content: 'a' })], undefined],
    ['usage without a finish reason', [LAST], undefined],
    ['a finish reason', [chatChunk({ content: 'a' }, 'stop')], 15_000],
    ['a finish reason with usage', [early({ content: 'a' })], 15_000],
    ['a finish reason, and then the usage alone', [chatChunk({}, 'stop'), LAST], 1_000],
    ['something after a finish reason', [early({ content: 'a' }), early({ content: 'b' })], undefined],
  ])('the silence that completes an answer depends on what came: %s', (_, chunks, expected) => {
    const answer = new ChatAnswer();
    for (const data of chunks) answer.take({ type: 'data', data });
    expect(answer.silenceMs).toBe(expected);
  });

  test('a server that stays silent after finish reasons with every piece is given up, because more may come', async () => {
    const failure = await askForError((reply) => reply.events(early({ content: 'a' }), early({ content: 'b' })), {
      options: { timeout: '1s' },
    });
    expect(failure.code).toBe('model_timeout');
  });
});
