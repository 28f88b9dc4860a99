import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { unsentRequest } from '../../activities/models/ai-sdk/ai-sdk.ts';
import type { ModelClient, ModelRequest } from '../../src/core/domain/model.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { context as callContext } from './fake-model.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';
import { roundTrips } from './round-trips.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

describe.each(PACKAGES)('a request of $name ($spec) is described exactly as it is sent', (one) => {
  test.each(roundTrips(one))('in a run with $title', async ({ agent, script }) => {
    server.script(...script);
    const client = aiSdk((id) => one.model(url, id));
    const described: unknown[] = [];
    const describing = {
      ...client,
      capabilities: client.capabilities,
      call: async (...[request, context]: Parameters<typeof client.call>) => {
        described.push(await client.describe?.(request, context));
        return client.call(request, context);
      },
    };
    await testAgent(agent, { input: 'Look.', model: describing });
    const sent = server.requests.map(({ path, body }) => ({ path: path.split('?')[0], body }));
    expect(sent.length).toBeGreaterThan(1);
    expect(described).toMatchObject(sent);
    expect(described.map((found) => (found as { body: unknown }).body)).toEqual(sent.map(({ body }) => body));
  });
});

const request: ModelRequest = {
  model: 'glm-5',
  instructions: ['Be brief.'],
  conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'Hello' }] }],
  tools: [],
  settings: {},
};

describe('what describing a request does besides', () => {
  const compatible = PACKAGES.find(({ name }) => name === 'openai-compatible')!;

  test('nothing is sent, no secret is read, and other requests of the process are not touched', async () => {
    server.script();
    const read: string[] = [];
    const client = aiSdk(async (id, { secret }) => {
      read.push(await secret('the-key'));
      return compatible.model(url, id);
    });
    const usual = globalThis.fetch;
    const [described, other] = await Promise.all([
      client.describe?.(request, {}),
      fetch(`${url}/elsewhere`, { method: 'POST', body: '{}' }),
    ]);
    expect(described).toMatchObject({ api: expect.stringMatching(/^ai-sdk\./), body: { model: 'glm-5', stream: true } });
    expect(other.status).toBe(404);
    expect(server.requests.map(({ path }) => path)).toEqual(['/elsewhere']);
    expect(read).toEqual(['not-read']);
    expect(globalThis.fetch).toBe(usual);
  });

  test('a package with its own "fetch" sends nothing, and the description says why there is no body', async () => {
    server.script();
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const own = globalThis.fetch;
    const options = { baseURL: `${url}${compatible.family.path}`, apiKey: 'k', name: 'own' };
    const client = aiSdk((id) => createOpenAICompatible({ ...options, fetch: (input, init) => own(input, init) })(id));
    await expect(client.describe?.(request, {})).rejects.toThrow('does not use the "fetch" of the process');
    expect(server.requests).toEqual([]);
  });

  test('with "describe: false" the package is not called, and the description says so', async () => {
    let created = 0;
    const create = (id: string): ReturnType<typeof compatible.model> => {
      created += 1;
      return compatible.model(url, id);
    };
    await expect(aiSdk(create, { describe: false }).describe?.(request, {})).rejects.toThrow('"describe" of its aiSdk() is false');
    expect(created).toBe(0);
  });
});

describe('a "fetch" of the user that first gets a token', () => {
  const compatible = PACKAGES.find(({ name }) => name === 'openai-compatible')!;
  const secrets = { client_id: 'c', client_secret: 'hidden' };
  const asked: string[] = [];
  const endpoint = http.createServer((incoming, answer) => {
    const serve = async (): Promise<void> => {
      asked.push(await text(incoming));
      answer.end(JSON.stringify({ token: `t${asked.length}` }));
    };
    void serve();
  });
  let tokens = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    tokens = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/token`;
  });
  afterAll(() => endpoint.close());

  /** A client whose models keep their first token. */
  async function withToken(body: () => string | URLSearchParams, { passesSignal = false } = {}): Promise<ModelClient> {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    let token: Promise<{ token: string }> | undefined;
    const ask = async (signal: AbortSignal | null | undefined): Promise<{ token: string }> =>
      (await fetch(tokens, { method: 'POST', body: body(), ...(passesSignal && signal ? { signal } : {}) })).json() as never;
    const own: typeof fetch = async (input, init) => {
      const { token: bearer } = await (token ??= ask(init?.signal));
      return fetch(new Request(input, { ...init, headers: { ...(init?.headers as object), authorization: bearer } }));
    };
    return aiSdk((id) => createOpenAICompatible({ baseURL: `${url}${compatible.family.path}`, name: 'own', fetch: own })(id));
  }

  test.each([
    ['JSON', () => JSON.stringify(secrets)],
    ['a form', () => new URLSearchParams(secrets)],
  ])('by %s gets it, shows the request of the model alone, and keeps the token for calls', async (_, body) => {
    server.script();
    asked.length = 0;
    const client = await withToken(body);
    const described = await client.describe?.(request, {});
    expect(described).toMatchObject({ path: expect.stringContaining(compatible.family.path), body: { model: 'glm-5', stream: true } });
    expect(JSON.stringify(described)).not.toContain('hidden');
    expect(asked).toEqual([String(body())]);
    expect(server.requests).toEqual([]);
    await expect(client.call(request, callContext())).resolves.toMatchObject({ content: 'I have nothing to add.' });
    expect(server.last).toEqual(described?.body);
    expect(asked).toHaveLength(1);
  });

  test('with the signal of the call shows nothing', async () => {
    asked.length = 0;
    const client = await withToken(() => JSON.stringify({ ...secrets, scope: ['models'] }), { passesSignal: true });
    await expect(client.describe?.(request, {})).rejects.toThrow('does not use the "fetch" of the process');
    expect(asked).toEqual([]);
  });
});

describe('a "fetch" of the process that is replaced while a request is described', () => {
  const usual = globalThis.fetch;
  afterEach(() => {
    globalThis.fetch = usual;
  });
  const body = JSON.stringify({ messages: [{ role: 'user' }] });
  const sent = (signal: AbortSignal): Promise<never> => fetch('http://a.test/v1/chat', { method: 'POST', body, signal }) as Promise<never>;
  const SEEN = { path: '/v1/chat', body: JSON.parse(body) as unknown };
  const reached = (): string[] => {
    const urls: string[] = [];
    globalThis.fetch = async (input) => {
      urls.push(input instanceof Request ? input.url : String(input));
      return new Response();
    };
    return urls;
  };

  test('by one around it stays, and passes on', async () => {
    const urls = reached();
    const seen = await unsentRequest((signal) => {
      const inner = globalThis.fetch;
      globalThis.fetch = (...given) => inner(...given);
      return sent(signal);
    });
    const wrapper = globalThis.fetch;
    await fetch('http://b.test/');
    expect([seen, await unsentRequest(sent)]).toEqual([SEEN, SEEN]);
    expect(globalThis.fetch).toBe(wrapper);
    await fetch('http://c.test/');
    expect(urls).toEqual(['http://b.test/', 'http://c.test/']);
  });

  test('by another one, and is put back later, passes on', async () => {
    const urls = reached();
    const before = globalThis.fetch;
    let saved = before;
    const seen = await unsentRequest((signal) => {
      const sending = sent(signal);
      saved = globalThis.fetch;
      globalThis.fetch = async () => new Response('mocked');
      return sending;
    });
    expect(await (await fetch('http://b.test/')).text()).toBe('mocked');
    globalThis.fetch = saved;
    await fetch('http://c.test/');
    expect([seen, await unsentRequest(sent)]).toEqual([SEEN, SEEN]);
    await fetch('http://d.test/');
    expect(urls).toEqual(['http://c.test/', 'http://d.test/']);
    expect(globalThis.fetch).toBe(before);
  });

  test('stays replaced until the last of several descriptions has ended', async () => {
    const urls = reached();
    const before = globalThis.fetch;
    const seen = await Promise.all([unsentRequest(sent), unsentRequest(sent), unsentRequest(sent)]);
    expect(seen).toEqual([SEEN, SEEN, SEEN]);
    expect(globalThis.fetch).toBe(before);
    expect(urls).toEqual([]);
  });
});
