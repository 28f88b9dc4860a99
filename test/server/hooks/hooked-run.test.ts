import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AnyHook, defineAgent, defineHook, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const FAR = 'f'.repeat(3_000);

function pay(tier: 'remote' | 'local') {
  return defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ to: z.string(), amount: z.number() }),
    tier,
    execute: ({ to, amount }) => `paid ${amount} to ${to.slice(0, 3)}`,
  });
}

/** Two hooks for each call, and two for each model call. */
const HOOKS: readonly AnyHook[] = [
  defineHook({
    name: 'cap',
    on: 'pre_tool_use',
    run: ({ arguments: args }) => (Number(args['amount']) > 50 ? { modify: { arguments: { ...args, amount: 50 } } } : 'allow'),
  }),
  defineHook({ name: 'note', on: 'post_tool_use', run: ({ result }) => ({ modify: { result: [result, 'noted'] } }) }),
  defineHook({ name: 'polite', on: 'pre_request', run: () => ({ inject: 'Be polite.' }) }),
  defineHook({ name: 'fails', on: 'post_response', run: () => Promise.reject(new Error('broken')) }),
];

const script = (): ReturnType<typeof say>[] => [
  together(callTool('pay', { to: FAR, amount: 70 }, 'c1'), callTool('pay', { to: 'Ann', amount: 7 }, 'c2')),
  callTool('pay', { to: 'Bob', amount: 99 }, 'c3'),
  say('Paid.'),
];

/** The steps of a run, and the number of events of its history, with and without hooks. */
async function observe(tier: 'remote' | 'local', hooks: readonly AnyHook[]) {
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'payer', model: 'scripted/m', tools: [pay(tier)], parallel: false, hooks });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(script()) } });
  const { runId, status, steps } = await testbed.client.run('payer', { input: 'Go', taskQueue: testbed.taskQueue, steps: true });
  expect(status).toBe('completed');
  const handle = testbed.client.handle(runId);
  await expectSameFromHistory(testbed, handle);
  await testbed.stopWorkers();
  expect(await handle.steps()).toEqual(steps);
  return { steps, types: (await historyOf(testbed, runId)).map(({ eventType }) => eventType) };
}

test.each(['remote', 'local'] as const)(
  'hooks add no event to a run with a %s tool, and its record is read back from the history',
  async (tier) => {
    const [plain, hooked] = await Promise.all([observe(tier, []), observe(tier, HOOKS)]);
    expect(hooked.types).toEqual(plain.types);
    expect(hooked.steps.flatMap(({ toolCalls }) => toolCalls.map(({ arguments: args, result }) => [args['amount'], result]))).toEqual([
      [50, JSON.stringify(['paid 50 to fff', 'noted'])],
      [7, JSON.stringify(['paid 7 to Ann', 'noted'])],
      [50, JSON.stringify(['paid 50 to Bob', 'noted'])],
    ]);
    expect(hooked.steps.map(({ hooks }) => hooks?.map(({ hook, answer }) => [hook, answer]))).toEqual(
      plain.steps.map(() => [
        ['polite', 'inject'],
        ['fails', 'failed'],
      ]),
    );
  },
);
