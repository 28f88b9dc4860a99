import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { chatChunk } from '../../fakes/openai-answers.ts';
import { failureOf, fakeProvider, modelRequest } from './fake-provider.ts';

const { server, ask, askForError } = fakeProvider();
const APIS = ['chat', 'responses'] as const;
const signal = new AbortController().signal;

describe.each(APIS)('a connection that fails, over %s', (api) => {
  const text = (words: string): object =>
    api === 'chat' ? chatChunk({ content: words }) : { type: 'response.output_text.delta', delta: words };

  test('no server at all', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    const { port } = await new Promise<AddressInfo>((resolve) =>
      listener.once('listening', () => resolve(listener.address() as AddressInfo)),
    );
    await new Promise((resolve) => listener.close(resolve));
    const failure = await failureOf(openai({ api, baseURL: `http://127.0.0.1:${port}` }).call(modelRequest(), { signal }));
    expect(failure).toMatchObject({ code: 'model_unreachable' });
    expect(failure.message).toContain(`127.0.0.1:${port}`);
    expect(failure.message).toContain('ECONNREFUSED');
  });

  test('a name that does not resolve', async () => {
    const failure = await failureOf(openai({ api, baseURL: 'http://nowhere.invalid/v1' }).call(modelRequest(), { signal }));
    expect(failure.code).toBe('model_unreachable');
    expect(failure.message).toContain('nowhere.invalid');
  });

  test('a reset before the answer', async () => {
    expect(await askForError((reply) => reply.reset(), { options: { api } })).toMatchObject({ code: 'model_unreachable' });
    expect(server().requests).toHaveLength(1);
  });

  test('a reset in the middle of the answer', async () => {
    const failure = await askForError(
      async (reply) => {
        reply.events(text('The Moon is'));
        await sleep(20);
        reply.reset();
      },
      { options: { api } },
    );
    expect(failure.code).toBe('model_unreachable');
    expect(server().requests).toHaveLength(1);
  });

  test('a stream that ends in good order, but early, is an error and not a short answer', async () => {
    const pieces: string[] = [];
    const failure = await askForError(
      (reply) => {
        reply.events(text('The Moon is'));
        reply.raw('data: {"choices":[{"del');
        reply.end();
      },
      { options: { api }, context: { onDelta: (delta) => pieces.push(delta.text) } },
    );
    expect(failure.code).toBe('model_unreachable');
    expect(pieces).toEqual(['The Moon is']);
  });

  test('without an answer, the client gives up and closes the connection', async () => {
    const failure = await askForError(() => undefined, { options: { api, timeout: 1_000 } });
    expect(failure.code).toBe('model_timeout');
    await server().requests[0]?.closed;
    expect(server().requests).toHaveLength(1);
  });

  test('an answer that stalls: the time limit counts from its last event', async () => {
    const failure = await askForError(
      async (reply) => {
        for (const word of ['The ', 'Moon ', 'is ']) {
          reply.events(text(word));
          await sleep(300);
        }
      },
      { options: { api, timeout: 750 } },
    );
    expect(failure).toMatchObject({ code: 'model_timeout', message: 'Provider of model "gpt-x": nothing arrived for 750 ms' });
    await server().requests[0]?.closed;
  });

  test.each([
    ['broken JSON in a stream', 'text/event-stream', 'data: {"choices": oops}\n\n'],
    ['broken JSON', 'application/json', '{"choices": ['],
    ['a page to log in', 'text/html', '<html>Log in</html>'],
    ['nothing', 'application/json', ''],
  ])('%s is a bad answer', async (_, type, body) => {
    const failure = await askForError((reply) => reply.text(200, body, { 'content-type': type }), { options: { api } });
    expect(failure.code).toBe('model_bad_response');
  });

  test('an abort rejects with the reason of the signal and closes the connection within a second', async () => {
    const abort = new AbortController();
    const reason = new Error('the run was cancelled');
    let answering: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => (answering = resolve));
    const call = ask(() => answering?.(), { options: { api }, context: { signal: abort.signal } });
    call.catch(() => undefined);
    await asked;
    const start = performance.now();
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    await server().requests[0]?.closed;
    expect(performance.now() - start).toBeLessThan(1000);
  });

  test('an abort during the answer does the same', async () => {
    const abort = new AbortController();
    const call = ask((reply) => reply.events(text('The Moon')), {
      options: { api },
      context: { signal: abort.signal, onDelta: () => abort.abort('enough') },
    });
    await expect(call).rejects.toBe('enough');
    await server().requests[0]?.closed;
  });

  test('a call whose signal is already aborted sends nothing', async () => {
    await expect(ask(() => undefined, { options: { api }, context: { signal: AbortSignal.abort('over') } })).rejects.toBe('over');
    expect(server().requests).toHaveLength(0);
  });
});

test('a complete answer counts even if the connection breaks before the usage', async () => {
  const answer = await ask(async (reply) => {
    reply.events(chatChunk({ content: 'all' }), chatChunk({}, 'stop'));
    await sleep(20);
    reply.reset();
  });
  expect(answer).toMatchObject({ content: 'all', finishReason: 'stop', usage: null });
});

test('a stream with the wrong content type is understood', async () => {
  const body = `data: ${JSON.stringify(chatChunk({ content: 'hi' }, 'stop'))}\n\ndata: [DONE]\n\n`;
  expect(await ask((reply) => reply.text(200, body))).toMatchObject({ content: 'hi', finishReason: 'stop' });
});

test('an answer of JSON whose connection is reset half-way', async () => {
  const failure = await askForError(async (reply) => {
    reply.unfinished(200, '{"choices":');
    await sleep(20);
    reply.reset();
  });
  expect(failure.code).toBe('model_unreachable');
});

test('an error body that never ends is given up too', async () => {
  const failure = await askForError((reply) => reply.unfinished(500, '{"error":'), { options: { timeout: 60 } });
  expect(failure.code).toBe('model_timeout');
});

test('an answer that never ends is given up', async () => {
  const failure = await askForError((reply) => {
    reply.raw(`data: ${'x'.repeat(17 * 1024 * 1024)}`);
  });
  expect(failure.code).toBe('model_bad_response');
});
