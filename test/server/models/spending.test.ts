import { expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { LonghaulPluginOptions } from '../../../worker/index.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { defineAgent, type Event } from '../../../src/index.ts';
import { chatChunk, says } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'spender', model: 'fake/model-1', modelMaxAttempts: 3 });
const hasty = defineAgent({ name: 'hasty', model: 'fake/model-1', modelMaxAttempts: 2, modelTimeout: 1_500 });

/** 11 bytes of text, which are estimated as 3 tokens. */
const HALF = 'half an ans';

/** Streams some text, and then breaks the connection. */
const breaksOff: Handler = (reply) => {
  reply.events(chatChunk({ content: HALF }));
  setTimeout(() => reply.reset(), 50);
};

/** An invalid answer, with its usage. */
const malformed: Handler = (reply) => reply.json(200, { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } });
const REPORTED = { promptTokens: 7, completionTokens: 2, totalTokens: 9 };

/** Streams some text, and then stops without an end. */
const fallsSilent: Handler = (reply) => reply.events(chatChunk({ content: HALF }));

const isOutOfOrder: Handler = (reply) => reply.json(500, { error: { message: 'out of order' } });

/** A provider that answers with these handlers in order. */
interface Provider extends AsyncDisposable {
  server: FakeOpenAI;
  /** The number of text pieces that have arrived. */
  heard: () => number;
  /** The options of a worker that uses the provider. */
  options: LonghaulPluginOptions;
}

async function provider(...handlers: Handler[]): Promise<Provider> {
  const server = await startFakeOpenAI(...handlers);
  const client = openai({ baseURL: server.url, apiKey: 'test' });
  let heard = 0;
  const listening: ModelClient = {
    capabilities: client.capabilities,
    call: (request, context) => {
      const onDelta = (delta: ModelDelta): void => {
        context.onDelta?.(delta);
        if (delta.type === 'text') heard += 1;
      };
      return client.call(request, { ...context, onDelta });
    },
  };
  // A heartbeat by the timer comes too late for all of these tests, unless the worker is configured otherwise.
  const options = { agents: [agent, hasty], providers: { fake: listening }, heartbeatEvery: 60_000 };
  return { server, heard: () => heard, options, [Symbol.asyncDispose]: () => server.close() };
}

/** The events of a run that record usage. */
async function paid(testbed: Testbed, runId: string): Promise<Event[]> {
  const { events } = await testbed.client.handle(runId).context();
  return events.filter((event) => event.usage !== undefined || event.failedAttempts !== undefined);
}

test('a failed attempt passes its usage to the next one, and the final answer records both', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(breaksOff, malformed, says('whole'));
  await testbed.work(fake.options);
  const result = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', output: 'whole', usage: { llmCalls: 1, totalTokens: 30 + 9 } });
  const events = await paid(testbed, result.runId);
  expect(events).toMatchObject([{ failedAttempts: { reported: REPORTED, estimated: { completionTokens: 3 } } }]);
  const estimated = events[0]?.failedAttempts?.estimated;
  expect(estimated?.promptTokens).toBeGreaterThan(10);
  expect(result.usage.estimated).toEqual(estimated);
});

test('attempts without output cost nothing', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(isOutOfOrder, says('whole'));
  await testbed.work(fake.options);
  const { runId, usage } = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const events = await paid(testbed, runId);
  expect(events).toHaveLength(1);
  expect(events[0]).not.toHaveProperty('failedAttempts');
  expect(usage).toMatchObject({ totalTokens: 30, llmCalls: 1 });
  expect(usage).not.toHaveProperty('estimated');
});

test('the last failure of a call records the usage of all its attempts', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(breaksOff, malformed);
  await testbed.work(fake.options);
  const result = await testbed.client.run(hasty, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'error', usage: { llmCalls: 0, totalTokens: 9, estimated: { completionTokens: 3 } } });
  expect(await paid(testbed, result.runId)).toMatchObject([
    { content: [], failed: { code: 'model_bad_response' }, failedAttempts: { reported: REPORTED, estimated: { completionTokens: 3 } } },
  ]);
});

test('attempts that time out have reported their usage by heartbeat', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(fallsSilent);
  await testbed.work({ ...fake.options, heartbeatEvery: 300 });
  const result = await testbed.client.run(hasty, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'error', usage: { estimated: { completionTokens: 6 } } });
  expect(await paid(testbed, result.runId)).toMatchObject([
    { failed: { code: 'model_timeout' }, failedAttempts: { estimated: { completionTokens: 6 } } },
  ]);
});

test('a worker that shuts down during an answer hands over the usage so far', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(fallsSilent);
  await testbed.work({ ...fake.options, shutdownGrace: 100 });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => fake.heard() === 1, 'half an answer');
  await testbed.stopWorkers();
  fake.server.script(says('here now'));
  await testbed.work(fake.options);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'here now' });
  expect(await paid(testbed, run.runId)).toMatchObject([{ failedAttempts: { estimated: { completionTokens: 3 } } }]);
});

test('a cancelled call keeps its output so far, and the usage of the attempts before', async () => {
  await using testbed = await Testbed.open();
  await using fake = await provider(breaksOff, fallsSilent);
  await testbed.work(fake.options);
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => fake.heard() === 2, 'half an answer of the second attempt');
  await run.cancel('enough');
  const { usage } = await run.result();
  const events = await paid(testbed, run.runId);
  const failedAttempts = { estimated: { completionTokens: 3 } };
  expect(events).toMatchObject([{ interrupted: true, usage: null, content: [{ content: HALF }], failedAttempts }]);
  expect(usage.llmCalls).toBe(1);
  expect(usage.estimated?.totalTokens).toBe(
    (events[0]?.estimated?.totalTokens ?? NaN) + (events[0]?.failedAttempts?.estimated?.totalTokens ?? NaN),
  );
});
