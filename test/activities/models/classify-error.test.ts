import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { describe, expect, test } from 'vitest';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { classifyError } from '../../../activities/models/errors/classify-error.ts';
import { ERROR_CODES } from '../../../src/core/domain/errors.ts';
import { failureOf, fakeProvider, modelRequest } from './fake-provider.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { chatChunk } from '../../fakes/openai-answers.ts';

const CALL = { model: 'gpt-x', host: 'models.example:443', secrets: [] };

function coded(message: string, code: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

function selfCaused(error: Error): Error {
  return Object.assign(error, { cause: error });
}

test.each<[what: string, error: unknown]>([
  ['"terminated" alone', new TypeError('terminated')],
  ['"terminated" with a code below', new TypeError('terminated', { cause: coded('other side closed', 'UND_ERR_SOCKET') })],
  ['"terminated" with a cause that has no code', new TypeError('terminated', { cause: new Error('other side closed') })],
  ['"terminated" with a cause that is no error', new TypeError('terminated', { cause: 'closed' })],
  ['"terminated" that is its own cause', selfCaused(new TypeError('terminated'))],
  ['"terminated" as an error of another class', new Error('terminated')],
  ['"terminated" in an error of the library without a status', new APIError(undefined, undefined, 'terminated', undefined)],
  [
    '"terminated" below an error of the library',
    new APIConnectionError({ message: 'Connection error.', cause: new TypeError('terminated') }),
  ],
  ['"terminated" below another error', new Error('the stream failed', { cause: new TypeError('terminated') })],
  ['a reset of the stream', coded('read ECONNRESET', 'ECONNRESET')],
  ['a broken pipe below another error', new Error('the stream failed', { cause: coded('write EPIPE', 'EPIPE') })],
  ['an error of undici', coded('other side closed', 'UND_ERR_SOCKET')],
  ['a stream that closes too soon', coded('Premature close', 'ERR_STREAM_PREMATURE_CLOSE')],
  ['a socket that hangs up', new Error('socket hang up')],
  ['a failed fetch without a reason', new TypeError('fetch failed')],
])('%s is a broken connection, which is retried', (_, error) => {
  const failure = classifyError(error, CALL);
  expect(failure).toMatchObject({ code: 'model_unreachable', message: expect.stringContaining('models.example:443') });
  expect(ERROR_CODES[failure.code].retryable).toBe(true);
});

test.each<[what: string, error: unknown]>([
  ['a timeout of the library', new APIConnectionTimeoutError()],
  ['a timeout of the system', new TypeError('terminated', { cause: coded('read ETIMEDOUT', 'ETIMEDOUT') })],
  ['a timeout of undici', coded('Body Timeout Error', 'UND_ERR_BODY_TIMEOUT')],
])('%s is a model that did not answer in time', (_, error) => {
  expect(classifyError(error, CALL)).toMatchObject({ code: 'model_timeout' });
});

test.each<[what: string, error: unknown]>([
  ['a defect', new TypeError('x is not a function')],
  ['an error that only speaks of an end', new Error('the account was terminated by its owner')],
  ['an error with the code of a defect', coded('bad argument', 'ERR_INVALID_ARG_VALUE')],
  ['nothing', undefined],
])('%s is not a broken connection, and is not retried', (_, error) => {
  expect(classifyError(error, CALL)).toMatchObject({ code: 'model_error' });
});

test('the error of an invalid certificate names the certificate', () => {
  const cause = new TypeError('fetch failed', { cause: coded('certificate has expired', 'CERT_HAS_EXPIRED') });
  expect(classifyError(new APIConnectionError({ message: 'Connection error.', cause }), CALL)).toMatchObject({
    code: 'model_unreachable',
    message: expect.stringContaining('CERT_HAS_EXPIRED'),
  });
});

describe('an answer with the status of an error', () => {
  const { server, askForError } = fakeProvider();
  const error = (message: string, rest: Record<string, unknown> = {}): object => ({
    error: { message, type: 'some_error', code: null, ...rest },
  });

  describe('an error status', () => {
    test.each([
      [400, 'model_bad_request', false],
      [401, 'model_unauthorized', false],
      [402, 'model_quota_exceeded', false],
      [403, 'model_forbidden', false],
      [404, 'model_not_found', false],
      [405, 'model_bad_request', false],
      [408, 'model_request_timeout', true],
      [409, 'model_conflict', true],
      [413, 'model_request_too_large', false],
      [422, 'model_unprocessable', false],
      [429, 'model_rate_limited', true],
      [500, 'model_server_error', true],
      [503, 'model_server_error', true],
      [529, 'model_server_error', true],
    ] as const)('%i is "%s", after one request', async (status, code, retryable) => {
      const failure = await askForError((reply) => reply.json(status, error('no luck')));
      expect(failure).toMatchObject({ code, retryAfterMs: undefined });
      expect(failure.message).toContain(`Provider answered ${status} for model "gpt-x": no luck`);
      expect(ERROR_CODES[code].retryable).toBe(retryable);
      expect(server().requests).toHaveLength(1);
    });

    test.each([
      [{ 'retry-after': '2' }, 2000],
      [{ 'retry-after': '0.5' }, 500],
      [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
      [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
      [{ 'retry-after': '0' }, undefined],
      [{ 'retry-after': '-5' }, undefined],
      [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, undefined],
    ])('the retry delay of 429 is read from %o', async (headers, expected) => {
      expect((await askForError((reply) => reply.json(429, error('slow down'), headers))).retryAfterMs).toBe(expected);
    });

    test('the retry delay may be a date, and may come with 503', async () => {
      const date = new Date(Date.now() + 60_000).toUTCString();
      const failure = await askForError((reply) => reply.json(503, error('later'), { 'retry-after': date }));
      expect(failure.retryAfterMs).toBeGreaterThan(30_000);
      expect(failure.retryAfterMs).toBeLessThanOrEqual(60_000);
    });

    test.each([
      ['OpenAI', 400, error('too long', { code: 'context_length_exceeded' })],
      ['OpenAI, by text', 400, error("This model's maximum context length is 4097 tokens.")],
      [
        'vLLM',
        400,
        { object: 'error', message: 'The prompt is longer than the maximum model length of 64', type: 'BadRequestError', code: 400 },
      ],
      ['llama.cpp', 400, error('the request exceeds the available context size', { type: 'exceed_context_size_error' })],
      ['llama.cpp, older', 500, error('the request exceeds the available context size. try increasing it')],
      ['Ollama', 400, { error: 'input length exceeds maximum context length' }],
    ])('a conversation that is too long is recognized: %s', async (_, status, body) => {
      expect((await askForError((reply) => reply.json(status, body))).code).toBe('context_length_exceeded');
    });

    test.each([
      [429, { code: 'insufficient_quota' }, 'model_quota_exceeded'],
      [429, { type: 'insufficient_quota' }, 'model_quota_exceeded'],
      [429, { type: 'exceeded_current_quota_error' }, 'model_quota_exceeded'],
      [429, { type: 'budget_exceeded' }, 'model_quota_exceeded'],
      [400, { type: 'budget_exceeded' }, 'model_quota_exceeded'],
      [429, { type: 'insufficient_balance_error' }, 'model_quota_exceeded'],
      [400, { code: 'content_filter' }, 'content_filter'],
      [400, { code: 'content_policy_violation' }, 'content_filter'],
      [400, { innererror: { code: 'ResponsibleAIPolicyViolation' } }, 'content_filter'],
    ])('%i with %o is "%s"', async (status, rest, code) => {
      expect((await askForError((reply) => reply.json(status, error('no', rest), { 'retry-after': '5' }))).code).toBe(code);
    });

    test.each([
      [500, 'false', 'model_error', false],
      [429, 'false', 'model_quota_exceeded', false],
      [400, 'true', 'model_server_error', true],
      [503, 'true', 'model_server_error', true],
    ] as const)('%i with "x-should-retry: %s" is "%s"', async (status, header, code, retryable) => {
      expect((await askForError((reply) => reply.json(status, error('no'), { 'x-should-retry': header }))).code).toBe(code);
      expect(ERROR_CODES[code].retryable).toBe(retryable);
    });

    test('a retry header does not make a too long conversation retryable', async () => {
      const failure = await askForError((reply) =>
        reply.json(400, error('no', { code: 'context_length_exceeded' }), { 'x-should-retry': 'true' }),
      );
      expect(failure.code).toBe('context_length_exceeded');
    });

    test.each([
      ['an object without a wrapper', { message: 'bare', code: 400 }],
      ['a text', { error: 'bare' }],
      ['a detail', { detail: [{ msg: 'bare' }] }],
    ])('the message is found in %s', async (_, body) => {
      expect((await askForError((reply) => reply.json(400, body))).message).toContain('bare');
    });

    test('a page of HTML is cut to one line', async () => {
      const failure = await askForError((reply) => reply.text(502, `<html>\n${'Bad gateway '.repeat(500)}</html>`));
      expect(failure.code).toBe('model_server_error');
      expect(failure.message).toMatch(/^Provider answered 502 for model "gpt-x": Bad gateway Bad gateway/);
      expect(Buffer.byteLength(failure.message)).toBeLessThan(700);
      expect(failure.message).not.toContain('\n');
    });

    test('no secret is repeated in the message', async () => {
      const options = { apiKey: 'plain-secret-key', headers: { 'x-api-token': 'header-secret' } };
      const text = `Incorrect key sk-proj-ab***yz9 (plain-secret-key, header-secret), Bearer abcdefgh.ijkl`;
      const failure = await askForError((reply) => reply.json(401, error(text)), { options });
      expect(failure.message).toBe(
        'Provider answered 401 for model "gpt-x": Incorrect key [redacted] ([redacted], [redacted]), [redacted] (check the API key)',
      );
      expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('secret');
    });

    test.each(['chat', 'responses'] as const)('an error in an answer of status 200 counts too, over %s', async (api) => {
      const streamed = (body: object) => askForError((reply) => reply.events(body), { options: { api } });
      expect(await streamed(error('slow', { code: 'rate_limit_exceeded' }))).toMatchObject({ code: 'model_rate_limited' });
      expect(await streamed(error('busy', { code: 503 }))).toMatchObject({ code: 'model_server_error' });
      expect(await streamed(error('odd'))).toMatchObject({
        code: 'model_server_error',
        message: 'Provider reported an error for model "gpt-x": odd',
      });
      expect(await streamed({ object: 'error', message: 'bad', code: 400 })).toMatchObject({ code: 'model_bad_request' });
    });
  });
});

describe('an error of the connection', () => {
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

    test('an abort rejects with the reason of the signal and closes the connection', async () => {
      const abort = new AbortController();
      const reason = new Error('the run was cancelled');
      let answering: (() => void) | undefined;
      const asked = new Promise<void>((resolve) => (answering = resolve));
      const call = ask(() => answering?.(), { options: { api }, context: { signal: abort.signal } });
      call.catch(() => undefined);
      await asked;
      abort.abort(reason);
      await expect(call).rejects.toBe(reason);
      await server().requests[0]?.closed;
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

  const WHOLE = JSON.stringify({ choices: [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop' }] });
  const REPORTED = JSON.stringify({ error: { message: 'out of memory', code: 503 } });

  describe.each(['text/event-stream', 'application/octet-stream', 'application/x-ndjson', ''])('a body of the type "%s"', (type) => {
    test.each([
      ['JSON', WHOLE],
      ['JSON behind blanks', `\n\n ${WHOLE}`],
      ['events', `data: ${JSON.stringify(chatChunk({ content: 'hi' }, 'stop'))}\n\ndata: [DONE]\n\n`],
      ['events behind comments', `\n: hello\n\ndata: ${WHOLE}\n\n`],
    ])('is read by its content: %s', async (_, body) => {
      expect(await ask((reply) => reply.text(200, body, { 'content-type': type }))).toMatchObject({ content: 'hi', finishReason: 'stop' });
    });

    test('is an error that is shown if it reports one', async () => {
      const failure = await askForError((reply) => reply.text(200, REPORTED, { 'content-type': type }));
      expect(failure).toMatchObject({ code: 'model_server_error', message: expect.stringContaining('out of memory') });
    });
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
});
