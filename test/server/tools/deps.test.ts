import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const whoAmI = defineTool({
  name: 'who_am_i',
  description: 'Tells who asks',
  parameters: z.object({}),
  execute: (_, { deps, state, setState, idempotencyKey }) => {
    setState('asked', Number(state['asked'] ?? 0) + 1);
    return {
      user: deps['user'],
      noteLength: String(deps['note']).length,
      asked: state['asked'] ?? 0,
      key: idempotencyKey,
    };
  },
});

const agent = defineAgent({
  name: 'greeter',
  model: 'scripted/m',
  deps: z.object({ user: z.string(), note: z.string() }),
  instructions: async ({ user, note }) => [`You serve ${user}.`, `The note has ${note.length} characters.`],
  tools: [whoAmI],
});

test.each([
  ['small deps travel in the input of the activity', 'short', true],
  ['deps above 1 kB go by reference', 'n'.repeat(3_000), false],
])('%s, tools and instructions see the deps, and each call has its own idempotency key', async (_, note, inline) => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('who_am_i', {}, 'c1'), callTool('who_am_i', {}, 'c2'), say('done')]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const deps = { user: 'Ada', note };
  const result = await testbed.client.run(agent, { input: 'Q', deps, taskQueue: testbed.taskQueue, steps: true });

  expect(scripted.requests[0]?.instructions).toEqual(['You serve Ada.', `The note has ${note.length} characters.`]);
  const { events } = await testbed.client.handle(result.runId).context();
  const [first, second] = events.filter((event) => event.content.some((item) => item.type === 'tool_call')).map(({ id }) => id);
  const results = result.steps?.flatMap((step) => step.toolCalls).map((call) => JSON.parse(call.result) as unknown);
  expect(results).toEqual([
    { user: 'Ada', noteLength: note.length, asked: 0, key: `${result.runId}/${first}/0` },
    { user: 'Ada', noteLength: note.length, asked: 1, key: `${result.runId}/${second}/0` },
  ]);
  const inputs = (await historyOf(testbed, result.runId)).flatMap(
    (event) => event.activityTaskScheduledEventAttributes?.input?.payloads ?? [],
  );
  const texts = inputs.map((payload) => Buffer.from(payload.data ?? []).toString());
  expect(texts.some((text) => text.includes(note))).toBe(inline);
  expect((await testbed.client.handle(result.runId).context()).state).toEqual({ asked: 2 });
});

test('the client refuses deps that do not fit, and deps that bypass the client end the run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([]) } });
  const bad = { input: 'Q', deps: { user: 7 } as unknown as { user: string; note: string }, taskQueue: testbed.taskQueue };
  await expect(testbed.client.start(agent, bad)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('deps.user'),
  });
  const result = await testbed.client.run('greeter', bad);
  expect(result).toMatchObject({ status: 'error', errorCode: 'invalid_input', error: expect.stringContaining('deps.note') });
});
