import { describe, expect, test, vi } from 'vitest';
import { callClient, itemsWithFreshSecrets, withFreshSecrets } from '../../../activities/fresh-secrets.ts';
import { openConnection } from '../../../activities/mcp/open-connection.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { aiSdk } from '../../../activities/models/ai-sdk/ai-sdk.ts';
import type { AiSdkModel } from '../../../activities/models/ai-sdk/language-model.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import { mcpServer } from '../../../src/define/mcp.ts';
import { type ReadSecret, secret } from '../../../src/define/resources.ts';
import { says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { modelRequest } from '../models/fake-provider.ts';
import { httpServer, recordingProxy } from '../mcp/real-servers.ts';

const OLD = 'sk-the-old-key';
const NEW = 'sk-the-new-key';

/** A vault over a source whose value of every secret can be replaced, with the number of its lookups. */
function replaceable(): { vault: SecretVault; replace: (value: string | Error) => void; lookups: () => number } {
  let value: string | Error = OLD;
  const source = vi.fn<() => Promise<string>>(async () => {
    if (value instanceof Error) throw value;
    return value;
  });
  return { vault: new SecretVault(source), replace: (next) => (value = next), lookups: () => source.mock.calls.length };
}

/** A request that needs the new key, and counts its attempts. */
function needingNew(secretOf: ReadSecret, refusal: unknown = new ModelCallError('model_unauthorized', 'refused')): () => Promise<string> {
  return vi.fn<() => Promise<string>>(async () => {
    const key = await secretOf('key');
    if (key !== NEW) throw refusal;
    return 'done';
  });
}

describe('a request that is refused because of its credentials', () => {
  test('is made once more with the new value of its secret', async () => {
    const { vault, replace, lookups } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const reader = vault.reader();
    const request = needingNew(reader);
    expect(await withFreshSecrets(reader, request)).toBe('done');
    expect(request).toHaveBeenCalledTimes(2);
    expect(lookups()).toBe(2);
    expect(await vault.resolve('key')).toBe(NEW);
  });

  test('fails if the value has not changed, or cannot be read now, or is refused as well: it is made twice at most', async () => {
    const { vault, replace } = replaceable();
    const unchanged = needingNew(vault.reader());
    await expect(withFreshSecrets(vault.reader(), unchanged)).rejects.toThrow('refused');
    expect(unchanged).toHaveBeenCalledTimes(1);

    for (const [next, times] of [
      [OLD, 1],
      [new Error('the source is down'), 1],
      ['sk-another-wrong-key', 2],
    ] as const) {
      const reader = vault.reader();
      const request = needingNew(reader);
      replace(next);
      await expect(withFreshSecrets(reader, request)).rejects.toThrow('refused');
      expect(request).toHaveBeenCalledTimes(times);
    }
  });

  test('asks the source once for all requests at the same time', async () => {
    const { vault, replace, lookups } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const calls = Array.from({ length: 50 }, async () => {
      const reader = vault.reader();
      return withFreshSecrets(reader, needingNew(reader));
    });
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']));
    expect(lookups()).toBe(2);
  });

  test('is not repeated for any other reason, or without secrets', async () => {
    const { vault, replace } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const reader = vault.reader();
    const forbidden = needingNew(reader, new ModelCallError('model_forbidden', 'this key may not use the model'));
    await expect(withFreshSecrets(reader, forbidden)).rejects.toThrow('may not use');
    expect(forbidden).toHaveBeenCalledTimes(1);
    const without = vi.fn<() => Promise<never>>(async () => Promise.reject(new ModelCallError('model_unauthorized', 'refused')));
    await expect(withFreshSecrets(vault.reader(), without)).rejects.toThrow('refused');
    await expect(withFreshSecrets(undefined, without)).rejects.toThrow('refused');
    expect(without).toHaveBeenCalledTimes(2);
  });

  test('may be one of a client that throws the status alone', async () => {
    const { vault, replace } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const reader = vault.reader();
    expect(await withFreshSecrets(reader, needingNew(reader, Object.assign(new Error('no'), { status: 401 })))).toBe('done');
  });
});

describe('a model call', () => {
  test.each([
    [401, 'Incorrect API key provided'],
    [403, 'The security token included in the request is expired'],
    [400, 'API key not valid. Please pass a valid API key.'],
  ])('is answered although its cached key was replaced: %i %s', async (status, message) => {
    const { vault, replace, lookups } = replaceable();
    await vault.resolve('openai');
    replace(NEW);
    const server = await startFakeOpenAI();
    try {
      server.script((reply, request) =>
        request.headers.authorization === `Bearer ${NEW}` ? says('far')(reply, request) : reply.json(status, { error: { message } }),
      );
      const client = openai({ apiKey: secret('openai'), baseURL: server.url, api: 'chat' });
      const context = { signal: new AbortController().signal, secret: vault.reader() };
      expect(await callClient(client, modelRequest(), context)).toMatchObject({ finishReason: 'stop' });
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${OLD}`, `Bearer ${NEW}`]);
      expect(lookups()).toBe(2);
    } finally {
      await server.close();
    }
  });

  test('of a package of the AI SDK is made with a model of the new key', async () => {
    const { vault, replace } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const keys: string[] = [];
    const client = aiSdk(async (modelId, { secret: read }) => {
      const key = await read('key');
      const doStream = async (): Promise<never> => {
        keys.push(key);
        const statusCode = key === NEW ? 400 : 401;
        throw Object.assign(new Error('refused'), { name: 'AI_APICallError', statusCode, responseBody: '{"error":{"message":"no"}}' });
      };
      return { specificationVersion: 'v4', provider: 'fake', modelId, supportedUrls: {}, doStream } as unknown as AiSdkModel;
    });
    const context = { signal: new AbortController().signal, secret: vault.reader() };
    await expect(callClient(client, modelRequest(), context)).rejects.toMatchObject({ code: 'model_bad_request' });
    expect(keys).toEqual([OLD, NEW]);
  });

  test('that has begun to answer is not made again', async () => {
    const { vault, replace } = replaceable();
    await vault.resolve('key');
    replace(NEW);
    const call = vi.fn<ModelClient['call']>(async (_request, { secret: read, onDelta }): Promise<ModelResponse> => {
      await read?.('key');
      onDelta?.({ type: 'text', text: 'Hel' });
      throw new ModelCallError('model_unauthorized', 'refused');
    });
    const client = { call } as unknown as ModelClient;
    const context = { signal: new AbortController().signal, secret: vault.reader(), onDelta: () => undefined };
    await expect(callClient(client, modelRequest(), context)).rejects.toThrow('refused');
    expect(call).toHaveBeenCalledTimes(1);
  });
});

test('the results of a batch are read with the new key, each once', async () => {
  const { vault, replace } = replaceable();
  await vault.resolve('key');
  replace(NEW);
  const reader = vault.reader();
  const list = async function* (): AsyncIterable<number> {
    await needingNew(reader)();
    yield 1;
    yield 2;
  };
  const read: number[] = [];
  for await (const item of itemsWithFreshSecrets(reader, list)) read.push(item);
  expect(read).toEqual([1, 2]);
});

test('an MCP server over HTTP whose token was replaced is called, and connected to, with the new one', async () => {
  let accepted = OLD;
  await using target = await httpServer();
  await using proxy = await recordingProxy(target.url, ({ authorization }) => authorization === `Bearer ${accepted}`);
  const { vault, replace, lookups } = replaceable();
  const server = mcpServer({ name: 'crm', url: proxy.url, headers: { authorization: secret('crm', { prefix: 'Bearer ' }) } });
  const never = new AbortController().signal;
  const open = (): ReturnType<typeof openConnection> => openConnection(server, { secrets: vault, log: () => undefined }, never);
  const tokensOf = (from: number): (string | undefined)[] => proxy.headers.slice(from).map(({ authorization }) => authorization);

  const connection = await open();
  accepted = NEW;
  replace(NEW);
  const refused = proxy.headers.length;
  await connection.tools('new', never);
  expect(new Set(tokensOf(refused))).toEqual(new Set([`Bearer ${OLD}`, `Bearer ${NEW}`]));
  const after = proxy.headers.length;
  await connection.tools('new', never);
  expect(new Set(tokensOf(after))).toEqual(new Set([`Bearer ${NEW}`]));
  expect(lookups()).toBe(2);
  await connection.close();

  accepted = OLD;
  replace(OLD);
  await (await open()).close();

  accepted = 'another token, which the source does not have';
  const before = proxy.headers.length;
  await expect(open()).rejects.toThrow('MCP server "crm" cannot be reached');
  expect(new Set(tokensOf(before))).toEqual(new Set([`Bearer ${OLD}`]));
});
