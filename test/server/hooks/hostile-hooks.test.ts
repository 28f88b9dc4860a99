import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, ModelCallError } from '../../../src/index.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { THROWN } from '../../activities/hostile/thrown-values.ts';

/** Values that cannot be encoded, or that the SDK's native core rejects. */
const WORST = [
  'a proxy of an error that refuses everything',
  'an object with members that throw',
  'an error with 10,000 causes',
  'lone surrogates',
  'a promise to complete the activity elsewhere',
  'a failure with a BigInt',
  'a failure with a cycle',
  'a failure with 10 MB of details',
  'a failure that waits NaN',
  'a failure that is its own cause',
  'a failure that says how it is encoded',
];

function thrower(what: string): () => never {
  const make = new Map(THROWN).get(what);
  if (make === undefined) throw new Error(`there is no value "${what}"`);
  return () => {
    throw make();
  };
}

test('a worker survives any value that a model throws, and each run ends with an error that says so', async () => {
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'bot', model: 'hostile/m', modelMaxAttempts: 1 });
  const well = defineAgent({ name: 'well', model: 'scripted/m' });
  const asked: string[] = [];
  const hostile = {
    capabilities: { structuredOutput: true },
    call: ({ conversation }: ModelRequest): never => {
      const what = WORST.find((one) => JSON.stringify(conversation).includes(JSON.stringify(one))) ?? '';
      asked.push(what);
      return thrower(what)();
    },
  };
  await testbed.work({ agents: [agent, well], providers: { hostile, scripted: scriptedModel([say('fine')]) } });
  const { client, taskQueue } = testbed;
  const results = await Promise.all(WORST.map((input) => client.run(agent, { input, taskQueue })));
  for (const result of results) {
    // An error that looks like an abort arrives without a code.
    expect(result).toMatchObject({ status: 'error', errorCode: expect.stringMatching(/^model_(client_failed|error)$/) as string });
    expect(result.error).not.toBe('');
  }
  expect(asked.toSorted()).toEqual(WORST.toSorted());
  expect(await client.run(well, { input: 'Q', taskQueue })).toMatchObject({ status: 'completed', output: 'fine' });
});

test('an invalid retry delay is ignored: the next attempt comes as the policy says', async () => {
  await using testbed = await Testbed.open();
  const agent = defineAgent({ name: 'bot', model: 'scripted/m' });
  const model = scriptedModel([say('fine')]);
  let calls = 0;
  const flaky: typeof model = Object.assign(Object.create(model) as typeof model, {
    call: (...args: Parameters<typeof model.call>) => {
      calls += 1;
      if (calls === 1) throw new ModelCallError('model_rate_limited', 'slow down', { retryAfterMs: NaN });
      return model.call(...args);
    },
  });
  await testbed.work({ agents: [agent], providers: { scripted: flaky } });
  expect(await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue })).toMatchObject({ status: 'completed' });
  expect(calls).toBe(2);
});

test('a worker survives any value that instructions and tools throw: they are retried, and the model reads the error of the tool', async () => {
  await using testbed = await Testbed.open();
  const thrown = WORST.slice(0, 6);
  const failing = thrown.map((what, index) => defineAgent({ name: `failing-${index}`, model: 'scripted/m', instructions: thrower(what) }));
  const tools = thrown.map((what, index) =>
    defineTool({
      name: `act_${index}`,
      description: 'Acts',
      parameters: z.object({}),
      maxAttempts: 2,
      backoff: { initial: '10ms', max: '10ms' },
      execute: thrower(what),
    }),
  );
  const agent = defineAgent({ name: 'user', model: 'scripted/m', tools });
  const scripted = scriptedModel([together(callTool('act_0'), ...tools.slice(1).map(({ name }) => callTool(name))), say('done')]);
  await testbed.work({ agents: [...failing, agent], providers: { scripted } });
  const { client, taskQueue } = testbed;
  for (const run of await Promise.all(failing.map((one) => client.start(one, { input: 'Q', taskQueue })))) {
    const attempts = async (): Promise<number> => {
      const { raw } = await client.temporal.workflow.getHandle(run.runId).describe();
      return raw.pendingActivities?.[0]?.attempt ?? 0;
    };
    await until(async () => (await attempts()) > 1, 'a second attempt');
    await run.cancel('seen');
  }
  const { status, steps } = await client.run(agent, { input: 'Q', taskQueue, steps: true });
  expect(status).toBe('completed');
  const calls = steps?.flatMap(({ toolCalls }) => toolCalls) ?? [];
  expect(calls.map(({ isError }) => isError)).toEqual(tools.map(() => true));
  for (const { result } of calls) expect(result).toMatch(/\(2 attempts\)$/);
});

test('a worker survives any value that the hooks of decisions throw: a decision is refused with the reason, and the next is accepted', async () => {
  await using testbed = await Testbed.open();
  const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] });
  const decisions = ['a proxy of an error that refuses everything', 'a failure with a cycle'].map(thrower);
  let told = 0;
  await testbed.work({
    agents: [agent],
    providers: { scripted: scriptedModel([callTool('pay', {}, 'c1'), say('done')]) },
    notify: () => {
      told += 1;
      throw ApplicationFailure.create({ message: 'no mail', details: [7n] });
    },
    authorize: () => decisions.shift()?.() ?? { as: 'ann' },
  });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation' && told > 0, 'the notify hook to be called');
  await expect(run.approve('c1', { id: 'd1' })).rejects.toMatchObject({ code: 'not_authorized' });
  await expect(run.approve('c1', { id: 'd2' })).rejects.toMatchObject({ code: 'not_authorized' });
  await run.approve('c1', { id: 'd3' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
});
