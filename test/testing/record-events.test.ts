import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineGuardrail, defineHook, defineTool, type EventsOptions, type RecordedEvents } from '../../src/index.ts';
import { callTool, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

function reader(options: { name: string; tier?: 'local'; effect?: 'once' }, seen: RecordedEvents[]) {
  return defineTool({
    ...options,
    description: 'Reads the record',
    parameters: z.object({ last: z.number().optional(), from: z.number().optional() }),
    maxAttempts: 1,
    execute: async (args, { events }) => {
      seen.push(await events(args as EventsOptions));
      return 'read';
    },
  });
}

test('a tool reads the newest events of the record, and those from an offset on', async () => {
  const seen: RecordedEvents[] = [];
  const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [reader({ name: 'look' }, seen)] });
  const script = [
    callTool('look', { last: 3 }),
    callTool('look', { last: 3 }),
    callTool('look', { from: 1 }),
    callTool('look'),
    say('done'),
  ];
  const run = await testAgent(agent, { input: 'Go', model: scriptedModel(script) });
  const offsets = seen.map(({ events }) => events.map(({ offset }) => offset));
  expect(offsets).toEqual([
    [0, 1],
    [1, 2, 3],
    [1, 2, 3, 4, 5],
    [0, 1, 2, 3, 4, 5, 6, 7],
  ]);
  expect(seen[1]).toMatchObject({ total: 4, firstOffset: 0 });
  expect(seen[1]).not.toHaveProperty('cut');
  expect(seen[1]?.events).toEqual(run.events.slice(1, 4).map((event, index) => ({ ...event, offset: index + 1 })));
});

test.each([
  [{ last: 0 }, '"last" is 0: write a whole number from 1 to 200'],
  [{ last: 201 }, '"last" is 201: write a whole number from 1 to 200'],
  [{ from: -1 }, '"from" is -1: write a whole number of at least 0'],
  [{ last: 1.5 }, '"last" is 1.5'],
  [{ bytes: 500_001 }, '"bytes" is 500001: write a whole number from 1 to 500000'],
  [{ lats: 3 }, 'there is no option "lats" (there are: from, last, bytes)'],
])('options that cannot be meant are refused: %j', async (options, problem) => {
  const bad = defineTool({
    name: 'bad',
    description: 'Reads the record',
    parameters: z.object({}),
    maxAttempts: 1,
    execute: async (_, { events }) => String((await events(options as EventsOptions)).total),
  });
  const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [bad] });
  const { steps } = await testAgent(agent, { input: 'Go', model: scriptedModel([callTool('bad'), say('done')]) });
  expect(steps[0]?.toolCalls[0]).toMatchObject({ isError: true, result: expect.stringContaining(`events: ${problem}`) });
});

test('a local tool cannot read the record, and says what to do', async () => {
  const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [reader({ name: 'look', tier: 'local' }, [])] });
  const { steps } = await testAgent(agent, { input: 'Go', model: scriptedModel([callTool('look'), say('done')]) });
  expect(steps[0]?.toolCalls[0]?.result).toMatch(/^events: a call of a local tool, .* cannot read the record, .* write "tier": "remote"$/);
});

test('hooks and guardrails read the record', async () => {
  const read: Record<string, number[]> = {};
  const note = (name: string, { events }: RecordedEvents): void => void (read[name] = events.map(({ offset }) => offset));
  const check = defineHook({
    name: 'check',
    on: 'pre_tool_use',
    run: async (_, context) => note('hook', await context.events({ last: 3 })),
  });
  const remote = defineHook({
    name: 'remote',
    on: 'post_tool_use',
    tier: 'remote',
    run: async (_, context) => note('remote hook', await context.events({ last: 1 })),
  });
  const guard = defineGuardrail({
    name: 'guard',
    type: 'output',
    check: async (context) => {
      note('guardrail', await context.events({ last: 2 }));
      return { passed: true };
    },
  });
  const act = defineTool({ name: 'act', description: 'Acts', parameters: z.object({}), execute: () => 'done' });
  const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [act], hooks: [check, remote], guardrails: [guard] });
  const { result } = await testAgent(agent, { input: 'Go', model: scriptedModel([callTool('act'), say('done')]) });
  expect(result.status).toBe('completed');
  expect(read).toEqual({ hook: [0], 'remote hook': [1], guardrail: [2, 3] });
});
