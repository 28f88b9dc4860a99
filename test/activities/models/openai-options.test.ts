import { afterEach, describe, expect, test, vi } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { ApiKey, KeyContext } from '../../../activities/models/openai/openai.ts';
import { secret } from '../../../src/define/resources.ts';
import { LonghaulError, UsageError } from '../../../src/core/domain/errors.ts';
import type { ModelCallContext } from '../../../src/core/domain/model.ts';
import { outputMessage, responsesStream, says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { failureOf, fakeProvider, modelRequest } from './fake-provider.ts';

const { server, ask } = fakeProvider();
const context = { signal: new AbortController().signal };
afterEach(() => vi.unstubAllEnvs());

describe('the options of openai()', () => {
  test('a missing key for OpenAI is an error that gives the remedy, and no request is sent', async () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    const failure = await failureOf(openai({ baseURL: 'https://api.openai.com/v1' }).call(modelRequest(), context));
    expect(failure.code).toBe('model_unauthorized');
    expect(failure.message).toContain('OPENAI_API_KEY');
  });

  test('the key is read at each call, not earlier', async () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    server().script(says('hi'));
    const client = openai({ baseURL: server().url });
    vi.stubEnv('OPENAI_API_KEY', 'sk-from-the-environment');
    await client.call(modelRequest(), context);
    expect(server().requests[0]?.headers.authorization).toBe('Bearer sk-from-the-environment');
  });

  test("the tags of the run may choose the key among the worker's secrets", async () => {
    server().script(says('hi'), says('ho'), says('hm'));
    const secrets: Record<string, string> = { 'openai/acme': 'sk-acme', 'openai/default': 'sk-default' };
    const reading = { ...context, secret: async (one: unknown) => secrets[(one as { name: string }).name] ?? '' };
    const asked: KeyContext[] = [];
    const apiKey = (about: KeyContext) => {
      asked.push(about);
      return secret(about.tags.includes('acme') ? 'openai/acme' : 'openai/default');
    };
    const client = openai({ baseURL: server().url, apiKey });
    await client.call(modelRequest(), { ...reading, tags: ['nightly', 'acme'] });
    await client.call(modelRequest(), reading);
    secrets['openai/default'] = 'sk-rotated';
    await client.call(modelRequest(), reading);
    expect(server().requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-acme',
      'Bearer sk-default',
      'Bearer sk-rotated',
    ]);
    expect(asked.slice(0, 2)).toEqual([
      { tags: ['nightly', 'acme'], model: 'gpt-x' },
      { tags: [], model: 'gpt-x' },
    ]);
  });

  test("a key that is a secret is removed from the provider's messages about it", async () => {
    server().script((reply) => reply.json(401, { error: { message: 'no such key: sk-from-the-vault' } }));
    const client = openai({ baseURL: server().url, apiKey: secret('openai') });
    const failure = await failureOf(client.call(modelRequest(), { ...context, secret: async () => 'sk-from-the-vault' }));
    expect(failure.code).toBe('model_unauthorized');
    expect(failure.message).not.toContain('sk-from-the-vault');
  });

  test('a key that cannot be loaded gives the reason, and no request is sent', async () => {
    const call = (apiKey: ApiKey, more: Partial<ModelCallContext> = {}) =>
      failureOf(openai({ baseURL: server().url, apiKey }).call(modelRequest(), { ...context, ...more }));
    const missing = () => Promise.reject(new LonghaulError('secret_missing', 'No source has secret "openai"'));
    expect(await call(secret('openai'), { secret: missing })).toMatchObject({
      code: 'secret_missing',
      message: 'No source has secret "openai"',
    });
    expect(await call(secret('openai'))).toMatchObject({
      code: 'secret_missing',
      message: expect.stringContaining('only a worker has secrets'),
    });
    const throwing = () => {
      throw new Error('no such tenant');
    };
    expect(await call(throwing)).toMatchObject({ code: 'model_error', message: expect.stringContaining('no such tenant') });
    expect(await call(() => 7 as never)).toMatchObject({
      code: 'model_error',
      message: expect.stringContaining('neither a string nor a secret()'),
    });
    expect(server().requests).toEqual([]);
  });

  test('other servers need no key', async () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    server().script(says('hi'));
    await openai({ baseURL: server().url }).call(modelRequest(), context);
    expect(server().requests[0]?.headers.authorization).toMatch(/^Bearer \S+$/);
  });

  test('the address can come from the environment', async () => {
    const other = await startFakeOpenAI(says('from the environment'));
    vi.stubEnv('OPENAI_BASE_URL', other.url);
    expect((await openai({ apiKey: 'sk-x' }).call(modelRequest(), context)).content).toBe('from the environment');
    await other.close();
  });

  test('every request has the headers and the organization', async () => {
    await ask(says('hi'), { options: { headers: { 'x-team': 'moon' }, organization: 'org-1' } });
    expect(server().requests[0]?.headers).toMatchObject({ 'x-team': 'moon', 'openai-organization': 'org-1' });
  });

  test('other servers get Chat Completions requests by default', async () => {
    await ask(says('hi'));
    await ask(responsesStream([outputMessage('hi')]), { options: { api: 'responses' } });
    expect(server().requests.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/responses']);
  });

  test('a key that is not a valid header does not appear in the error', async () => {
    const failure = await failureOf(openai({ baseURL: server().url, apiKey: 'plain-secret\nkey' }).call(modelRequest(), context));
    expect(failure).toMatchObject({ code: 'model_error' });
    expect(failure.message).not.toContain('secret');
  });

  test('the capabilities show the limitations of the server', () => {
    expect(openai().capabilities.structuredOutput).toBe(true);
    expect(openai({ capabilities: { structuredOutput: false } }).capabilities.structuredOutput).toBe(false);
  });

  test.each([
    { baseURL: 'localhost:8000' },
    { baseURL: 'nonsense' },
    { baseURL: 'http://user:hunter2-password@127.0.0.1/v1' },
    { timeout: 0 },
    { timeout: '25d' as const },
    { timeout: Infinity },
    { timeoutMs: 5_000 },
  ])('%o is refused at once', (options) => {
    expect(() => openai(options)).toThrow(UsageError);
    expect(() => openai(options)).not.toThrow(/hunter2/);
  });
});
