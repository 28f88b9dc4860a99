import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { RUNNING_CALL } from '../../../src/core/domain/tool-calls.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';

test('cancelling aborts the model call at once, keeps the output so far, and closes as Canceled with the reason', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), hang('half an ans')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, heartbeatEvery: 60_000 });
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 2, 'the second model call');

  expect(await handle.cancel('changed my mind')).toBe('requested');
  // Both are in one process: a heartbeat, which would take longer here than the test may, is not needed.
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({
    status: 'cancelled',
    stopReason: 'cancelled',
    cancelReason: 'changed my mind',
    stepsUsed: 1,
    success: false,
  });
  expect(await executionStatus(testbed, handle.runId)).toBe('CANCELLED');
  const { events } = await handle.context();
  expect(events.at(-1)).toMatchObject({ interrupted: true, content: [{ type: 'message', content: 'half an ans' }] });
  expect(result.usage.llmCalls).toBe(2);
});

test('cancelling while tools run aborts their signals, gives every call a result and records the step', async () => {
  await using testbed = await Testbed.open();
  const aborted: string[] = [];
  let begun = 0;
  const wait = defineTool({
    name: 'wait',
    description: 'Waits for ever',
    parameters: z.object({}),
    execute: async (_, { signal, callId }) => {
      begun += 1;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      aborted.push(callId);
    },
  });
  const agent = defineAgent({ name: 'waiter', model: 'scripted/m', tools: [wait] });
  const scripted = scriptedModel([together(say('waiting'), callTool('wait', {}, 'c1'), callTool('wait', {}, 'c2'))]);
  await testbed.work({ agents: [agent], providers: { scripted }, heartbeatEvery: 60_000 });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => begun === 2, 'both tools');
  await handle.cancel('enough');
  const result = await handle.result({ steps: true });
  expect(result).toMatchObject({ status: 'cancelled', output: 'waiting', stepsUsed: 1 });
  expect(result.steps?.[0]?.toolCalls.map(({ callId, isError, result: text }) => [callId, isError, text])).toEqual([
    ['c1', true, RUNNING_CALL],
    ['c2', true, RUNNING_CALL],
  ]);
});

test('a tool that ignores its signal does not delay the end of the run', async () => {
  await using testbed = await Testbed.open();
  let release = (): void => undefined;
  let begun = false;
  const deaf = defineTool({
    name: 'deaf',
    description: 'Hears nothing',
    parameters: z.object({}),
    execute: async () => {
      begun = true;
      await new Promise<void>((resolve) => (release = resolve));
    },
  });
  const agent = defineAgent({ name: 'deaf_agent', model: 'scripted/m', tools: [deaf] });
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('deaf')]) } });
  const handle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => begun, 'the tool');
  await handle.cancel('enough');
  expect(await handle.result({ timeout: 5_000 })).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
  release();
});

test('a run that is cancelled before a worker takes it ends as cancelled too', async () => {
  await using testbed = await Testbed.open();
  const handle = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await handle.cancel('too late for this');
  const scripted = scriptedModel([]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'too late for this', stepsUsed: 0 });
  expect(scripted.requests).toHaveLength(0);
});
