import { expect, test } from 'vitest';
import { hang, say, scriptedModel, failWith } from '../../src/testing/index.ts';
import { defineAgent } from '../../src/index.ts';
import { executionStatus, Testbed, until } from './testbed.ts';

const researcher = defineAgent({ name: 'researcher', model: 'scripted/r', instructions: 'Research.' });
const writer = defineAgent({ name: 'writer', model: 'writing/w', instructions: 'Write.' });

test('a workflow of the user runs two agents, one on the result of the other', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('facts')]);
  const writing = scriptedModel([say('a text about facts')]);
  await testbed.work({ agents: [researcher, writer], providers: { scripted, writing } });
  const { workflow } = testbed.client.temporal;
  const report = await workflow.execute('report', { args: ['the Moon'], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  expect(report).toEqual({ text: 'a text about facts', statuses: ['completed', 'completed'], tokens: 30 });
  expect(JSON.stringify(writing.requests[0]?.conversation)).toContain('Write about: facts');
});

test('an agent that fails or is cancelled by itself is a result for the workflow that runs it', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [researcher], providers: { scripted: scriptedModel([failWith('model_forbidden', 'no access'), hang()]) } });
  const { workflow } = testbed.client.temporal;
  const start = (id: string) =>
    workflow.start('outcome', { args: [id], taskQueue: testbed.taskQueue, workflowId: `${testbed.taskQueue}-${id}` });
  expect(await (await start(`${testbed.taskQueue}-failing`)).result()).toMatchObject({ status: 'error', error: 'no access' });

  const child = `${testbed.taskQueue}-cancelled`;
  const parent = await start(child);
  await until(
    async () =>
      (
        await testbed.client
          .handle(child)
          .status()
          .catch(() => undefined)
      )?.events === 1,
    'the child to think',
  );
  await testbed.client.handle(child).cancel('the child alone');
  expect(await parent.result()).toMatchObject({ status: 'cancelled', cancelReason: 'the child alone' });
});

test('cancelling the workflow cancels the agent that it runs', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang()]);
  await testbed.work({ agents: [researcher], providers: { scripted } });
  const child = `${testbed.taskQueue}-child`;
  const { workflow } = testbed.client.temporal;
  const parent = await workflow.start('outcome', { args: [child], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the agent to think');
  await parent.cancel();
  await expect(parent.result()).rejects.toThrow('Workflow execution cancelled');
  expect(await executionStatus(testbed, testbed.taskQueue)).toBe('CANCELLED');
  expect(await executionStatus(testbed, child)).toBe('CANCELLED');
  expect(await testbed.client.handle(child).result()).toMatchObject({ status: 'cancelled' });
});
