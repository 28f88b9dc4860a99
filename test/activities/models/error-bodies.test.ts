import { APIError } from 'openai';
import { describe, expect, test } from 'vitest';
import { classifyError } from '../../../activities/models/errors/classify-error.ts';
import type { ErrorCode, ModelCallError } from '../../../src/core/domain/errors.ts';
import { fakeProvider } from './fake-provider.ts';

const { askForError } = fakeProvider();

function failureOf(status: number, body: unknown, headers: Record<string, string> = {}, secrets: string[] = []): ModelCallError {
  // As the client makes it: a body that is not JSON becomes a message.
  const whole = typeof body === 'string' ? { message: body } : body;
  return classifyError(new APIError(status, whole as object, undefined, new Headers(headers)), { model: 'm', host: 'h', secrets });
}

const PAGE = '<!DOCTYPE html><html><head><title>504 Gateway Time-out</title><style>h1 { color: red }</style></head>';

describe('the message of an error is shown, whatever its form', () => {
  test.each<[form: string, status: number, body: unknown, message: string]>([
    ['an object below "error"', 400, { error: { message: 'no such tool' } }, 'no such tool'],
    ['an object alone', 400, { message: 'no such tool', code: 400 }, 'no such tool'],
    ['a text below "error"', 400, { error: 'no such tool' }, 'no such tool'],
    ['a list (Gemini)', 400, [{ error: { code: 400, message: 'no such tool', status: 'INVALID_ARGUMENT' } }], 'no such tool'],
    [
      'details next to the message (Google)',
      400,
      { error: { message: 'no such tool', details: [{ reason: 'BAD', '@type': 't' }] } },
      'no such tool',
    ],
    ['an error in a choice (OpenRouter)', 400, { choices: [{ error: { message: 'no such tool', code: 502 } }] }, 'no such tool'],
    [
      'raw text of another provider (OpenRouter)',
      400,
      { error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"no such tool"}}' } } },
      'Provider returned error: no such tool',
    ],
    [
      'raw text that is not JSON',
      400,
      { error: { message: 'Provider returned error', metadata: { raw: 'busy' } } },
      'Provider returned error: busy',
    ],
    ['JSON inside the message (LiteLLM)', 400, { error: { message: '{"error":{"message":"no such tool"}}' } }, 'no such tool'],
    ['JSON inside a text below "error"', 400, { error: '{"message":"no such tool"}' }, 'no such tool'],
    [
      'JSON inside JSON inside the message',
      400,
      { message: JSON.stringify({ error: JSON.stringify({ msg: 'no such tool' }) }) },
      'no such tool',
    ],
    ['JSON that is cut', 400, { error: { message: '{"error":{"mess' } }, '{"error":{"mess'],
    ['a list of errors', 400, { errors: [{ message: 'no such tool' }, { message: 'no such model' }] }, 'no such tool; no such model'],
    ['a list of texts', 400, { errors: ['no such tool', 'no such tool'] }, 'no such tool'],
    ['a detail', 400, { detail: 'no such tool' }, 'no such tool'],
    [
      'details with their place (FastAPI, vLLM)',
      422,
      {
        detail: [
          { loc: ['body', 'tools', 0], msg: 'field required' },
          { loc: ['body', 'n'], msg: 'not a number' },
        ],
      },
      'field required (body.tools.0); not a number (body.n)',
    ],
    ['a problem', 400, { type: 'about:blank', title: 'No such tool', status: 400 }, 'No such tool'],
    ['a text next to a message (Fastify)', 400, { statusCode: 400, error: 'Bad Request', message: 'no such tool' }, 'no such tool'],
    ['an error of OAuth', 400, { error: 'invalid_request', error_description: 'no such tool' }, 'no such tool'],
    ['Bedrock', 400, { message: 'no such tool', __type: 'ValidationException' }, 'no such tool'],
    ['API Gateway', 400, { Message: 'no such tool' }, 'no such tool'],
    ['Baidu', 400, { error_code: 336_002, error_msg: 'no such tool' }, 'no such tool'],
    ['MiniMax', 400, { base_resp: { status_code: 2013, status_msg: 'no such tool' } }, 'no such tool'],
    ['Lambda', 400, { errorMessage: 'no such tool', errorType: 'X' }, 'no such tool'],
    ['a field "msg"', 400, { code: 400, msg: 'no such tool', success: false }, 'no such tool'],
    ['an unknown object', 400, { problem: 'no such tool' }, '{"problem":"no such tool"}'],
    ['a message that is null', 400, { error: { message: null, code: 'x' } }, '{"error":{"message":null,"code":"x"}}'],
    ['plain text', 400, 'no such tool', 'no such tool'],
    ['text in lines', 502, 'upstream\n  connect\terror', 'upstream connect error'],
    ['nothing', 400, '', 'it says nothing more'],
    ['an empty object', 400, {}, 'it says nothing more'],
    ['a page with a title', 504, `${PAGE}<body><p>nginx</p></body></html>`, '504 Gateway Time-out'],
    [
      'a page with another heading',
      504,
      `${PAGE}<body><h1 class="big">The <b>origin</b> is away</h1></body></html>`,
      '504 Gateway Time-out: The origin is away',
    ],
    [
      'a page with the same heading',
      504,
      `${PAGE}<body><center><h1>504 Gateway Time-out</h1></center></body></html>`,
      '504 Gateway Time-out',
    ],
    ['a page without a title', 502, '<html><style>p {}</style><script>f("<p>")</script><p>Bad <i>gateway</i></p></html>', 'Bad gateway'],
    ['a page that is cut', 502, '<html><p>Bad gateway</p><script>never', 'Bad gateway'],
    ['XML', 400, '<?xml version="1.0"?><Error><Code>X</Code><Message>no such tool</Message></Error>', 'X no such tool'],
  ])('%s', (_, status, body, message) => {
    expect(failureOf(status, body).message.replaceAll(/\s+/g, ' ')).toBe(`Provider answered ${status} for model "m": ${message}`);
  });

  test('no secret is shown, even at the end of the part that is read', () => {
    const secret = `k-${'x'.repeat(300)}`;
    const text = `${`${secret} `.repeat(27)}${secret}`;
    for (const body of [
      text,
      { error: { message: text } },
      `<html><h1>${text}</h1></html>`,
      { error: JSON.stringify({ message: text }) },
    ]) {
      expect(failureOf(400, body, {}, [secret]).message).not.toMatch(/k-x/);
    }
  });
});

describe.each(['chat', 'responses'] as const)('an error inside an answer of status 200, over %s', (api) => {
  test.each<[form: string, body: object, code: ErrorCode, message: string]>([
    ['a list', [{ error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } }], 'model_rate_limited', 'slow down'],
    ['an object', { error: { message: 'slow down', code: 'rate_limit_exceeded' } }, 'model_rate_limited', 'slow down'],
    ['a text', { error: 'out of memory' }, 'model_server_error', 'out of memory'],
    [
      'a choice',
      { id: 'x', choices: [{ index: 0, error: { code: 502, message: 'Upstream is away' }, finish_reason: 'error' }] },
      'model_server_error',
      'Upstream is away',
    ],
    ['MiniMax: a rate', { choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } }, 'model_rate_limited', 'rate limit'],
    [
      'MiniMax: no credit',
      { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
      'model_quota_exceeded',
      'insufficient balance',
    ],
    ['MiniMax: withheld', { base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } }, 'content_filter', 'input new_sensitive'],
    ['a body with a code', { code: 500, msg: '404 NOT_FOUND', success: false }, 'model_server_error', '404 NOT_FOUND'],
    ['a body without success', { success: false, message: 'no such model' }, 'model_server_error', 'no such model'],
    [
      'an overloaded server',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'model_server_error',
      'Overloaded',
    ],
    ['vLLM', { object: 'error', message: 'bad', code: 400 }, 'model_bad_request', 'bad'],
    [
      'an exception of AWS',
      { error: { message: 'Too many requests', __type: 'ThrottlingException' } },
      'model_rate_limited',
      'Too many requests',
    ],
  ])('%s', async (_, body, code, message) => {
    for (const answer of ['stream', 'whole'] as const) {
      const failure = await askForError((reply) => (answer === 'stream' ? reply.events(body) : reply.json(200, body)), {
        options: { api },
      });
      expect(failure).toMatchObject({ code, message: expect.stringContaining(message) as string });
    }
  });

  test('a page in place of an answer is shown', async () => {
    const page = '<html><title>Log in to the network</title></html>';
    const failure = await askForError((reply) => reply.text(200, page, { 'content-type': 'text/html' }), { options: { api } });
    expect(failure).toMatchObject({ code: 'model_bad_response', message: expect.stringContaining(': Log in to the network') as string });
  });
});

describe('the wait that a provider asks for', () => {
  const soon = (ms: number): string => new Date(Date.now() + ms).toISOString();

  test.each<[where: string, headers: Record<string, string>, body: unknown, ms: number | undefined]>([
    ['seconds', { 'retry-after': '2' }, {}, 2_000],
    ['a part of a second', { 'retry-after': '0.5' }, {}, 500],
    ['milliseconds', { 'retry-after-ms': '250', 'retry-after': '9' }, {}, 250],
    ['ten days', { 'retry-after': '864000' }, {}, 864_000_000],
    ['no number', { 'retry-after': 'NaN' }, {}, undefined],
    ['infinity', { 'retry-after': 'Infinity' }, {}, undefined],
    ['a number beyond all clocks', { 'retry-after': '1e300' }, {}, undefined],
    ['zero', { 'retry-after': '0' }, {}, undefined],
    ['less than zero', { 'retry-after': '-5' }, {}, undefined],
    ['a date that is past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, {}, undefined],
    ['an empty header', { 'retry-after': '' }, {}, undefined],
    ['a word', { 'retry-after': 'soon' }, {}, undefined],
    ['Google, in its details', {}, { error: { code: 429, details: [{ '@type': 'x/RetryInfo', retryDelay: '31s' }] } }, 31_000],
    ['Google, with a part of a second', {}, [{ error: { code: 429, details: [{ retryDelay: '31.478s' }] } }], 31_478],
    ['Google, as an object', {}, { error: { details: [{ retryDelay: { seconds: '3', nanos: 500_000_000 } }] } }, 3_500],
    ['Google, without a unit', {}, { error: { details: [{ retryDelay: '31' }] } }, undefined],
    ['a header before the body', { 'retry-after': '2' }, { error: { details: [{ retryDelay: '31s' }] } }, 2_000],
    ['seconds in the body', {}, { message: 'You are being rate limited.', retry_after: 1.5 }, 1_500],
    ['seconds of OpenRouter', {}, { error: { message: 'no', metadata: { retry_after_seconds: 7 } } }, 7_000],
    ['"try again in 12.3s"', {}, { error: { message: 'Rate limit reached. Please try again in 12.3s. Visit' } }, 12_300],
    ['"try again in 644ms"', {}, { error: { message: 'Please try again in 644ms.' } }, 644],
    ['"try again in 6m0s"', {}, { error: { message: 'Please try again in 6m0s.' } }, 360_000],
    ['"try again in 15m2.196s"', {}, { error: { message: 'Please try again in 15m2.196s. Need more tokens?' } }, 902_196],
    ['"try again in 1h2m3s"', {}, { error: { message: 'Please try again in 1h2m3s' } }, 3_723_000],
    ['"wait 20 seconds"', {}, { error: { message: 'Too many requests, please wait 20 seconds before the next' } }, 20_000],
    ['"retry after 59 seconds"', {}, { error: { message: 'Please retry after 59 seconds.' } }, 59_000],
    ['"retry in 31.4s"', {}, { error: { message: 'limit: 250000\nPlease retry in 31.4s.' } }, 31_400],
    ['"wait for 1 minute and 5 seconds"', {}, { error: { message: 'wait for 1 minute and 5 seconds' } }, 65_000],
    ['"available in 2 hours"', {}, { error: { message: 'Your limit is available in 2 hours' } }, 7_200_000],
    ['"retry 3 times"', {}, { error: { message: 'retry 3 times' } }, undefined],
    ['no time in a message', {}, { error: { message: 'please wait and try again' } }, undefined],
    ['a reset of OpenAI', { 'x-ratelimit-reset-requests': '20ms' }, {}, 20],
    ['a longer reset of OpenAI', { 'x-ratelimit-reset-tokens': '6m0s' }, {}, 360_000],
    ['the nearest of several resets', { 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, {}, 1_000],
    [
      'the reset of the limit that is reached',
      { 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '0' },
      {},
      360_000,
    ],
    ['a reset in seconds (IETF)', { 'ratelimit-reset': '30' }, {}, 30_000],
    ['a reset that is now', { 'ratelimit-reset': '0' }, {}, undefined],
    ['a reset that is past', { 'x-ratelimit-reset': '1600000000' }, {}, undefined],
    ['a message before a reset', { 'x-ratelimit-reset-tokens': '6m0s' }, { error: { message: 'try again in 2s' } }, 2_000],
  ])('%s', (_, headers, body, ms) => {
    expect(failureOf(429, body, headers).retryAfterMs).toBe(ms);
  });

  test.each<[where: string, headers: () => Record<string, string>]>([
    ['a date of HTTP', () => ({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() })],
    ['a date of ISO 8601', () => ({ 'retry-after': soon(60_000) })],
    ['a reset of Anthropic', () => ({ 'anthropic-ratelimit-input-tokens-reset': soon(60_000) })],
    ['seconds since 1970', () => ({ 'x-ratelimit-reset': String(Math.ceil((Date.now() + 60_000) / 1_000)) })],
    ['milliseconds since 1970 (OpenRouter)', () => ({ 'x-ratelimit-reset': String(Date.now() + 60_000) })],
  ])('%s', (_, headers) => {
    const { retryAfterMs } = failureOf(429, {}, headers());
    expect(retryAfterMs).toBeGreaterThan(30_000);
    expect(retryAfterMs).toBeLessThanOrEqual(61_000);
  });

  test('is not read from an error that waiting does not cure', () => {
    expect(failureOf(400, { error: { message: 'try again in 2s' } }, { 'retry-after': '2' }).retryAfterMs).toBeUndefined();
  });
});
