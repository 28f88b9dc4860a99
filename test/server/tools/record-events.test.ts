import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineGuardrail, defineHook, defineTool, type RecordedEvents } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

function offsetsOf({ events }: RecordedEvents): number[] {
  return events.map(({ offset }) => offset);
}

function reading(options: { name: string; tier?: 'local' }) {
  return defineTool({
    ...options,
    description: 'Reads the last three events of the record',
    parameters: z.object({}),
    maxAttempts: 1,
    execute: async (_, { events }) =>
      (await events({ last: 3 })).events.map(({ offset, author, content }) => ({ offset, author, content })),
  });
}

const look = reading({ name: 'look' });
const lookQuickly = reading({ name: 'look_quickly', tier: 'local' });

test('a tool reads the last three events of its run; a local one is told that it cannot', async () => {
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'reader', model: 'scripted/m', tools: [look, lookQuickly] });
  const script = [callTool('look', {}, 'c1'), together(callTool('look', {}, 'c2'), callTool('look_quickly', {}, 'c3')), say('done')];
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(script) } });
  const result = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  const { events } = await testbed.client.handle(result.runId).context();
  const [, second] = result.steps ?? [];
  expect(JSON.parse(second?.toolCalls[0]?.result ?? '')).toEqual(
    events.slice(1, 4).map(({ author, content }, index) => ({ offset: index + 1, author, content })),
  );
  expect(second?.toolCalls[1]).toMatchObject({ isError: true, result: expect.stringContaining('write "tier": "remote"') });
});

test('hooks and guardrails read the record of a session, over its turns', async () => {
  const read: [string, number[]][] = [];
  const hook = defineHook({
    name: 'hook',
    on: 'pre_tool_use',
    run: async (_, context) => void read.push(['hook', offsetsOf(await context.events({ last: 2 }))]),
  });
  const guard = defineGuardrail({
    name: 'guard',
    type: 'output',
    check: async ({ events }) => {
      read.push(['guardrail', offsetsOf(await events({ last: 1 }))]);
      return { passed: true };
    },
  });
  const agent = defineAgent({ name: 'reader', model: 'scripted/m', tools: [look], hooks: [hook], guardrails: [guard] });
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('hello'), callTool('look'), say('done')]) } });
  const session = testbed.client.session(agent, { id: `session-${testbed.taskQueue}`, taskQueue: testbed.taskQueue });
  await session.ask('Hello');
  const before = (await testbed.client.handle(session.id).context()).events.length;
  const turn = await session.ask('Look');
  expect(turn.status).toBe('completed');
  const { events } = await testbed.client.handle(session.id).context();
  expect(read.map(([name]) => name)).toEqual(['guardrail', 'hook', 'guardrail']);
  // The hook is called before the response with the call is recorded: the newest event is the message.
  const message = events.findIndex(({ author }, offset) => offset >= before && author === 'user');
  expect(read[1]?.[1]).toEqual([message - 1, message]);
  await session.close();
});
