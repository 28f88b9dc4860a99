import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineFlow, defineTool } from '../../../src/index.ts';
import { callTool, failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const approve = defineTool({
  name: 'approve',
  description: 'Approves',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'approved',
});
const writer = defineAgent({ name: 'writer', model: 'scripted/m', instructions: 'You write.' });
const critic = defineAgent({ name: 'critic', model: 'scripted/m', tools: [approve], output: z.object({ good: z.boolean() }) });
const account = defineAgent({ name: 'account', model: 'scripted/m', deps: z.object({ account: z.string() }) });
const draft = defineFlow({
  name: 'draft',
  kind: 'loop',
  agents: [writer, critic],
  maxIterations: 4,
  until: z.object({ good: z.literal(true) }),
});
const report = defineFlow({ name: 'report', kind: 'sequential', agents: [writer, account] });
const agents = [draft, report, writer, critic, account];

test('the agents of a loop act in one run, over its executions and workers', async () => {
  await using testbed = await Testbed.open();
  const script = [
    say('One.'),
    say('{"good":false}'),
    say('Two.'),
    callTool('approve', {}, 'c1'),
    say('{"good":false}'),
    say('Three.'),
    say('{"good":true}'),
  ];
  const model = scriptedModel(script);
  const work = { agents, providers: { scripted: model }, continueAsNew: { events: 20 } };
  await testbed.work(work);
  const handle = await testbed.client.start('draft', { input: 'A poem', taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length === 1, 'the call to wait');
  expect(await handle.status()).toMatchObject({ agentName: 'draft', currentAgent: 'critic', waitingFor: ['approve'] });
  await testbed.stopWorkers();
  await testbed.work(work);
  await handle.approve('c1', { id: 'd1', by: 'ann' });
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({
    status: 'completed',
    output: { good: true },
    agentName: 'draft',
    lastAgent: 'critic',
    limits: { steps: 80 },
  });
  expect(result.steps?.map(({ agent }) => agent)).toEqual(['writer', 'critic', 'writer', 'critic', 'critic', 'writer', 'critic']);
  expect(result.usageByAgent).toMatchObject({ writer: { llmCalls: 3 }, critic: { llmCalls: 4 } });
  expect((await handle.status()).executions).toBeGreaterThan(1);
  expect((await testbed.client.temporal.workflow.getHandle(handle.runId).describe()).searchAttributes).toMatchObject({
    LonghaulAgent: ['draft'],
  });
  await expectSameFromHistory(testbed, handle);
});

test('a flow whose deps do not fit one of its agents ends before a model is called', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents, providers: { scripted: scriptedModel([say('One.'), say('Two.')]) } });
  const refused = await testbed.client.run(report, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(refused).toMatchObject({ status: 'error', errorCode: 'invalid_input', stepsUsed: 0 });
  expect(refused.error).toContain('The deps do not fit agent "account"');
  const handle = await testbed.client.start(report, { input: 'Q', deps: { account: 'a1' }, taskQueue: testbed.taskQueue });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'Two.', agentName: 'report', lastAgent: 'account' });
  const scheduled = (await historyOf(testbed, handle)).flatMap(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
  );
  expect(scheduled).toEqual(['resolveAgent', 'callModel', 'resolveAgent', 'callModel']);
});

test('a workflow runs agents in parallel, and an error has the results of all of them', async () => {
  await using testbed = await Testbed.open();
  const { taskQueue } = testbed;
  const side = ['researcher', 'writer'].map((name) => defineAgent({ name, model: `${name}/m` }));
  const providers = {
    researcher: scriptedModel([say('facts'), say('facts again')]),
    writer: scriptedModel([say('a text'), failWith('model_forbidden', 'no access')]),
  };
  await testbed.work({ agents: side, providers });
  const { workflow } = testbed.client.temporal;
  const start = (id: string) => workflow.start('sideBySide', { args: ['the Moon'], taskQueue, workflowId: `${taskQueue}-${id}` });
  expect(await (await start('one')).result()).toMatchObject({
    output: '[researcher]\nfacts\n\n[writer]\na text',
    branches: [{ name: 'researcher', status: 'completed' }, { name: 'writer' }],
    usage: { llmCalls: 2 },
  });
  const failure = await (await start('two')).result().catch((error: unknown) => error);
  expect(failure).toMatchObject({
    cause: {
      type: 'child_failed',
      message: 'Not all agents have completed: writer (error: no access)',
      details: [
        {
          branches: [
            { name: 'researcher', output: 'facts again' },
            { name: 'writer', status: 'error', error: 'no access' },
          ],
        },
      ],
    },
  });
});

test('a workflow runs agents in turns, in an order that no worker has', async () => {
  await using testbed = await Testbed.open();
  const { taskQueue } = testbed;
  const team = ['researcher', 'writer'].map((name) => defineAgent({ name, model: `${name}/m` }));
  const providers = {
    researcher: scriptedModel([say('facts'), say('one'), say('two')]),
    writer: scriptedModel([say('a text'), say('bad'), say('good')]),
  };
  await testbed.work({ agents: team, providers });
  const done: unknown = await testbed.client.temporal.workflow.execute('inTurns', { args: ['the Moon'], taskQueue, workflowId: taskQueue });
  expect(done).toEqual({
    outputs: ['a text', 'good'],
    names: ['researcher+writer', 'writer', 'rounds', 'writer'],
    steps: [2, 4],
  });
});
