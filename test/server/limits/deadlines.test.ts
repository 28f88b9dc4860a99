import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, failWith, hang, type ScriptEntry, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

const failing = defineTool({
  name: 'failing',
  description: 'Fails',
  parameters: z.object({}),
  maxAttempts: 10,
  backoff: { initial: '40s' },
  execute: () => {
    throw new Error('not now');
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  effect: 'once',
  execute: () => sleep(3_000).then(() => 'paid'),
});

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [failing, pay], limits: { deadline: '2s' } });
const bursting = defineAgent({ name: 'bursting', model: 'scripted/m', tools: [failing], burst: true, limits: { deadline: '2s' } });

test.each<[string, typeof clerk | typeof bursting, ScriptEntry[]]>([
  ['for the next attempt of a model call', clerk, [failWith('model_rate_limited')]],
  ['for an answer that does not come', clerk, [hang('Once upon')]],
  ['for the next attempt of a tool call', clerk, [callTool('failing')]],
  ['for a call that must take effect once', clerk, [callTool('pay')]],
  ['for a model call of a burst', bursting, [hang('Once upon')]],
  ['for the next attempt of a model call of a burst', bursting, [failWith('model_rate_limited')]],
])('a run that waits %s ends at its deadline, and reads back as it ended', async (_, agent, script) => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(script, { repeatLast: true });
  await testbed.work({ agents: [agent], providers: { scripted } });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  expect(result.durationSeconds).toBeGreaterThanOrEqual(2);
  expect(result.durationSeconds).toBeLessThan(12);
  const requests = scripted.requests.length;
  await sleep(1_500);
  expect(scripted.requests).toHaveLength(requests);
  const calls = (await handle.steps()).flatMap(({ toolCalls }) => toolCalls.map((call) => call.result));
  const expected = { pay: ['paid'], failing: ['Tool call was running at the deadline of the run; its outcome is unknown.'] };
  const [called] = script.flatMap((entry) => (entry.type === 'reply' ? entry.calls.map(({ name }) => name) : []));
  expect(calls).toEqual(called === undefined ? [] : expected[called as keyof typeof expected]);
});
