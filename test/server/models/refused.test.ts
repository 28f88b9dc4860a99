import { expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../src/index.ts';
import { says } from '../../fakes/openai-answers.ts';
import { type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'patient', model: 'fake/model-1', modelMaxAttempts: 1 });
const brief = defineAgent({ name: 'brief', model: 'fake/model-1', modelPatience: '4s' });

const refuses =
  (seconds: number): Handler =>
  (reply) =>
    reply.json(429, { error: { message: 'slow down', code: 'rate_limit_exceeded' } }, { 'retry-after': String(seconds) });

test('a run whose provider refuses shows when it is retried, and completes, with more refusals than attempts', async () => {
  await using testbed = await Testbed.open();
  const server = await startFakeOpenAI(refuses(1), refuses(1), refuses(3), says('whole'));
  await testbed.work({ agents: [agent], providers: { fake: openai({ baseURL: server.url, apiKey: 'test' }) } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).running?.[0]?.refused?.times === 3, 'the third refusal');
  const [call] = (await run.status()).running ?? [];
  expect(call).toMatchObject({ name: 'callModel', lastFailure: expect.stringContaining('slow down') as string });
  expect(call?.refused).toMatchObject({ code: 'model_rate_limited', times: 3 });
  const { nextAttemptAt = '', givesUpAt = '' } = call?.refused ?? {};
  expect(Date.parse(givesUpAt)).toBeGreaterThan(Date.parse(nextAttemptAt));
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'whole' });
  expect(server.requests).toHaveLength(4);
  expect((await run.status()).running).toBeUndefined();
  await server.close();
});

test('a run whose provider refuses for longer than its patience ends, and says so', async () => {
  await using testbed = await Testbed.open();
  const server = await startFakeOpenAI(refuses(1));
  await testbed.work({ agents: [brief], providers: { fake: openai({ baseURL: server.url, apiKey: 'test' }) } });
  const result = await testbed.client.run(brief, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'error', errorCode: 'model_rate_limited' });
  expect(result.error).toMatch(/slow down \(given up/);
  expect(result.error).toContain('"modelPatience"');
  await server.close();
});
