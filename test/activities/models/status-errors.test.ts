import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/core/domain/errors.ts';
import { fakeProvider } from './fake-provider.ts';

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
  ])('a conversation that is too long is recognised: %s', async (_, status, body) => {
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
