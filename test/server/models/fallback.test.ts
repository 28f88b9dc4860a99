import { expect, test } from 'vitest';
import { z } from 'zod';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { connect, type StreamItem } from '../../../src/client/index.ts';
import { memoryStreams } from '../../../worker/index.ts';
import { chatChunk, says } from '../../fakes/openai-answers.ts';
import { type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';

const FIRST = 'first/model-1';
const SECOND = 'second/model-2';

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
const agent = defineAgent({ name: 'clerk', model: [FIRST, SECOND], tools: [look] });

/** Streams some text, and breaks the connection once that has been read. */
const breaksOff =
  (read: Promise<void>): Handler =>
  (reply) => {
    reply.events(chatChunk({ content: 'half an ans' }));
    void read.then(() => reply.reset());
  };

test('a provider that breaks off is followed by the next one: readers get a reset, and the history no event', async () => {
  await using testbed = await Testbed.open();
  const { promise: read, resolve: hasRead } = Promise.withResolvers<void>();
  const broken = await startFakeOpenAI(breaksOff(read));
  const sound = await startFakeOpenAI(says('whole'));
  try {
    const providers = {
      first: openai({ baseURL: broken.url, apiKey: 'one' }),
      second: openai({ baseURL: sound.url, apiKey: 'two' }),
    };
    const streams = memoryStreams();
    await testbed.work({ agents: [agent], providers, streams });
    const client = await connect({ address: testbed.address, namespace: testbed.client.temporal.options.namespace, streams });
    const handle = await client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    const items: StreamItem[] = [];
    for await (const item of handle.stream()) {
      items.push(item);
      if (item.type === 'delta') hasRead();
    }
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'completed', output: 'whole', usage: { llmCalls: 1 } });
    expect(result.usage.estimated?.completionTokens).toBe(3);
    const { events } = await handle.context();
    expect(await handle.steps()).toMatchObject([{ answeredBy: SECOND, tried: [{ model: FIRST, code: 'model_unreachable' }] }]);
    expect(events.at(-1)).toMatchObject({ answeredBy: SECOND, failedAttempts: { estimated: { completionTokens: 3 } } });
    const texts = items.flatMap((item) =>
      item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : item.type === 'reset' ? ['⟲'] : [],
    );
    expect(texts.join('')).toBe('half an ans⟲whole');
    const history = await historyOf(testbed, handle);
    const scheduled = history.flatMap(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name ?? []);
    expect(scheduled.filter((name) => name === 'callModel')).toHaveLength(1);
    await client.close();
  } finally {
    await broken.close();
    await sound.close();
  }
});

test('a run that continues as new keeps to the model of its turn', async () => {
  await using testbed = await Testbed.open();
  const first = scriptedModel([{ type: 'failure', code: 'model_server_error', message: 'down', retryAfterMs: undefined }]);
  const second = scriptedModel([...Array.from({ length: 6 }, (_, index) => callTool('look', {}, `c${index}`)), say('Done.')]);
  await testbed.work({ agents: [agent], providers: { first, second }, continueAsNew: { events: 30 } });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  const steps = await handle.steps();
  expect(steps.map(({ answeredBy, skipped }) => [answeredBy, skipped])).toEqual(Array.from({ length: 7 }, () => [SECOND, undefined]));
  expect(first.requests).toHaveLength(1);
});
