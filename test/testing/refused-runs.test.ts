import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openai } from '../../activities/models/openai/openai.ts';
import { defineAgent } from '../../src/index.ts';
import { failWith, rateLimit, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const agent = defineAgent({ name: 'clerk', model: 'any/m' });

/** The times of the requests to a provider, and what stops it. */
interface Provider {
  url: string;
  requests: number[];
  close: () => Promise<void>;
}

/** Starts a provider that answers this many requests in any second, and refuses others. */
async function startProvider(perSecond: number, retryAfter: string | undefined): Promise<Provider> {
  const requests: number[] = [];
  const accepted: number[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const now = performance.now();
      requests.push(now);
      if (accepted.filter((at) => at > now - 1_000).length >= perSecond) {
        response.writeHead(429, { 'content-type': 'application/json', ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) });
        response.end(JSON.stringify({ error: { message: 'Rate limit reached', code: 'rate_limit_exceeded' } }));
        return;
      }
      accepted.push(now);
      response.writeHead(200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: 'Done.' };
      response.end(
        JSON.stringify({
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/v1`, requests, close };
}

let provider: Provider | undefined;
// Loads what a run needs, so that the runs of a test begin together.
beforeAll(() => testAgent(agent, { input: 'Go', model: scriptedModel([say('Done.')]) }));
afterEach(async () => provider?.close());

describe('thirty runs at once against a provider that answers three requests a second', () => {
  test.each<[what: string, retryAfter: string | undefined, shares: boolean]>([
    ['with Retry-After: 1', '1', true],
    ['without Retry-After', undefined, true],
    ['with a client for each run', '1', false],
  ])(
    'all complete, with at most twice the requests, and not in waves: %s',
    async (_, retryAfter, shares) => {
      provider = await startProvider(3, retryAfter);
      const { url, requests } = provider;
      const client = (): ReturnType<typeof openai> => openai({ baseURL: url, apiKey: 'sk-test' });
      const shared = client();
      const runs = await Promise.all(
        Array.from({ length: 30 }, () => testAgent(agent, { input: 'Go', model: shares ? shared : client() })),
      );
      expect(runs.map(({ result }) => result.status)).toEqual(Array.from({ length: 30 }, () => 'completed'));
      expect(requests.length).toBeLessThanOrEqual(60);
      // The first wave is the runs' own.
      const afterwards = requests.slice(30);
      const inASecond = afterwards.map((from) => afterwards.filter((at) => at >= from && at < from + 1_000).length);
      expect(Math.max(0, ...inASecond)).toBeLessThanOrEqual(4);
    },
    60_000,
  );
});

test('a run alone waits in virtual time for what its provider asks', async () => {
  provider = await startProvider(1, '60');
  const model = openai({ baseURL: provider.url, apiKey: 'sk-alone' });
  await testAgent(agent, { input: 'Go', model });
  const { result } = await testAgent(agent, { input: 'Go', model });
  // The provider counts in real time: it refuses for a second, whatever it asks.
  expect(result).toMatchObject({ status: 'completed' });
  expect(result.durationSeconds).toBeGreaterThan(60);
}, 55_000);

describe('a provider that refuses', () => {
  test('is retried for ten minutes, however often it refuses', async () => {
    const { result } = await testAgent(agent, { input: 'Go', model: scriptedModel([say('Done.')]), faults: [rateLimit(25)] });
    expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  });

  test('ends the run once the patience is over, and says so', async () => {
    const model = scriptedModel([failWith('model_server_error', 'overloaded')], { repeatLast: true });
    const { result } = await testAgent(agent, { input: 'Go', model });
    expect(result.status).toBe('error');
    expect(result.error).toMatch(/^overloaded \(given up after \d+ attempts: the 10 min of "modelPatience" are over\)$/);
    expect(result.durationSeconds).toBeGreaterThan(590);
    expect(result.durationSeconds).toBeLessThan(700);
  });

  test('ends the run at once if it asks for a longer wait', async () => {
    const { result } = await testAgent(agent, {
      input: 'Go',
      model: scriptedModel([failWith('model_rate_limited', 'slow down', { retryAfter: 7_200_000 })]),
    });
    expect(result).toMatchObject({ status: 'error', errorCode: 'model_rate_limited' });
    expect(result.error).toContain('asks for a wait of 2 h');
    expect(result.durationSeconds).toBeLessThan(5);
  });

  test('does not use up the attempts for other failures', async () => {
    const hasty = defineAgent({ name: 'clerk', model: 'any/m', modelMaxAttempts: 2 });
    const script = [
      failWith('model_rate_limited'),
      failWith('model_unreachable'),
      failWith('model_server_error'),
      failWith('model_rate_limited'),
      say('Done.'),
    ];
    expect((await testAgent(hasty, { input: 'Go', model: scriptedModel(script) })).result.status).toBe('completed');
  });
});
