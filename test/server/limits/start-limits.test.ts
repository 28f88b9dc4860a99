import { expect, test } from 'vitest';
import type { LimitOptions } from '../../../src/index.ts';
import { callTool, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed } from '../testbed/testbed.ts';

test('the limits of a start replace the agent\'s limits, and its deadline may be a duration such as "2h"', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), callTool('search', { query: 'b' })]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const limits: LimitOptions = { toolCalls: 1, deadline: '2h' };
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, limits });
  expect(await handle.result()).toMatchObject({ status: 'limit_reached', stopReason: 'tool_call_limit' });
  expect((await handle.status()).limits).toMatchObject({ steps: 10, toolCalls: 1, deadlineMs: 7_200_000 });
});

test('impossible limits are refused: by the client if it can see it, otherwise when the run starts', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const start = (limits: object) => testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, limits });
  await expect(start({ deadline: 'soon' })).rejects.toThrow('the run cannot start: "limits.deadline" is "soon"');
  await expect(start({ toolCalls: -1 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('limits.toolCalls'),
  });
  const priceless = await start({ costUsd: 1 });
  expect(await priceless.result()).toMatchObject({
    status: 'error',
    errorCode: 'invalid_agent',
    error: expect.stringContaining('the price of model "scripted/model-1" is not known'),
  });
  const misnamed = await start({ toolCallsByName: { serach: 1 } });
  expect(await misnamed.result()).toMatchObject({
    status: 'error',
    errorCode: 'invalid_input',
    error: expect.stringContaining('"serach"'),
  });
});

test('a workflow limits the agents that it runs, as children and inline', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), callTool('search', { query: 'b' })]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { workflow } = testbed.client.temporal;
  const options = { taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue };
  expect(await workflow.execute('limitedTwice', { ...options, args: [{ toolCalls: 0 }] })).toEqual(['tool_call_limit', 'tool_call_limit']);
  const refused = workflow.execute('limitedTwice', { ...options, workflowId: `${testbed.taskQueue}-2`, args: [{ deadline: 'soon' }] });
  await expect(refused).rejects.toMatchObject({
    cause: { type: 'invalid_input', message: expect.stringContaining('agent "assistant" cannot start: "limits.deadline" is "soon"') },
  });
});
