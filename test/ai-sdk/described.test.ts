import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../src/core/domain/model.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';
import { roundTrips } from './round-trips.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

describe.each(PACKAGES)('a request of $name ($spec) is described as it is sent', (one) => {
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

  test('a package with a "fetch" of its own sends nothing, and the reader is told why there is no body', async () => {
    server.script();
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const own = globalThis.fetch;
    const options = { baseURL: `${url}${compatible.family.path}`, apiKey: 'k', name: 'own' };
    const client = aiSdk((id) => createOpenAICompatible({ ...options, fetch: (input, init) => own(input, init) })(id));
    await expect(client.describe?.(request, {})).rejects.toThrow('does not use the "fetch" of the process');
    expect(server.requests).toEqual([]);
  });
});
