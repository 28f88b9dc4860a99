import { expect, test } from 'vitest';
import { z } from 'zod';
import { askHuman, defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, failWith, hang, say, type ScriptedModel, scriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import type { EndedNotice } from '../../../worker/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { EVERY_STEP, exported } from '../archive/exported.ts';
import { HeldArchive } from '../archive/held-archive.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const looked: string[] = [];

const look = defineTool({
  name: 'look',
  description: 'Looks something up',
  parameters: z.object({ query: z.string() }),
  execute: ({ query }) => `found ${looked.push(query)}`,
});

const colour = askHuman({ name: 'ask_colour', description: 'Asks for a colour', answer: z.object({ colour: z.string() }) });

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [look, colour] });

function forbiddenAtThirdStep(...after: ScriptEntry[]): ScriptedModel {
  return scriptedModel([callTool('look', { query: 'a' }), callTool('look', { query: 'b' }), failWith('model_forbidden'), ...after]);
}

test('a run whose model failed for good is retried from that step, and keeps the results of earlier calls', async () => {
  await using testbed = await Testbed.open();
  looked.length = 0;
  const scripted = forbiddenAtThirdStep(say('done'), say('done otherwise'));
  const told: EndedNotice[] = [];
  const archive = new HeldArchive(() => false);
  await testbed.work({ agents: [clerk], providers: { scripted }, archive, notifyEnded: (notice) => void told.push(notice) });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'error', errorCode: 'model_forbidden', stepsUsed: 2 });
  await expect(run.retry({ fromStep: 4 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: `Run "${run.runId}" cannot be retried from there: it has no step 4. Retry it from a step from 1 to 3`,
  });

  const retried = await callCli(['retry', run.runId, '--address', testbed.address]);
  expect(retried).toEqual({
    exitCode: 0,
    stdout: `${run.runId}\n`,
    stderr: `It continues from step 3. Wait for it: npx longhaul result ${run.runId} --address ${testbed.address}\n`,
  });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 3, error: null });
  expect([scripted.requests.length, looked]).toEqual([4, ['a', 'b']]);
  expect(told.map(({ status }) => status)).toEqual(['error', 'completed']);
  expect(told[0]?.id).not.toBe(told[1]?.id);
  const events = await Array.fromAsync(run.events());
  expect(events.map(({ content: [part] }) => part?.type)).toEqual([
    'message',
    'tool_call',
    'tool_result',
    'tool_call',
    'tool_result',
    'message',
  ]);
  expect((await run.steps()).map(({ step }) => step)).toEqual([1, 2, 3]);
  expect((await exported(run.export())).summary).toMatchObject({ events: 6, steps: 3, executions: 1, gaps: [], missingSteps: [] });
  expect(archive.batches.map(({ from, through }) => [from, through])).toEqual([
    [0, 5],
    [0, 6],
  ]);
  await expectSameFromHistory(testbed, run);

  // Two requests at the same time reset the run once.
  const twice = await Promise.all([run.retry({ fromStep: 3 }), run.retry({ fromStep: 3 })]);
  expect(twice[0]).toEqual(twice[1]);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done otherwise' });
  expect([scripted.requests.length, looked]).toEqual([5, ['a', 'b']]);
});

test('the decision that started the failed step is kept, and later messages are listed as dropped', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('ask_colour', { question: 'Which?' }, 'c1'), hang(), say('green it is')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the question');
  await run.respond('c1', { colour: 'green' });
  await until(() => scripted.requests.length === 2, 'the model call');
  await run.send('hurry up');
  await expect(run.retry()).rejects.toMatchObject({ code: 'run_open', message: expect.stringContaining('cancel it first') as string });
  await run.cancel('enough');
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  expect(await run.retry()).toMatchObject({ fromStep: 2, dropped: ['send'] });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: 'green it is' });
  expect(result.cancelReason).toBeUndefined();
  expect(JSON.stringify(scripted.requests[2])).toContain('green');
  expect(JSON.stringify(scripted.requests[2])).not.toContain('hurry up');
  await expectSameFromHistory(testbed, run);
});

test('a run that has continued as new is retried from a step of its newest execution; an earlier step is refused with the possible steps', async () => {
  await using testbed = await Testbed.open();
  looked.length = 0;
  const scripted = forbiddenAtThirdStep(say('done'));
  await testbed.work({ agents: [clerk], providers: { scripted }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'error', stepsUsed: 2 });
  await expect(run.retry({ fromStep: 1 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(/step 1 is in an earlier execution.*Retry it from step 3$/) as string,
  });
  expect(await run.retry()).toMatchObject({ fromStep: 3 });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 3 });
  expect([scripted.requests.length, looked]).toEqual([4, ['a', 'b']]);
  // Each execution that has continued names the execution that was reset; the record belongs to the new one.
  expect((await run.steps()).map(({ step }) => step)).toEqual([1, 2, 3]);
  expect((await exported(run.export())).summary).toMatchObject({ events: 6, steps: 3, gaps: [], missingSteps: [] });
});

test('a run that ended at a limit is retried beyond it if the limit is raised during the retried step', async () => {
  await using testbed = await Testbed.open();
  const raised = Promise.withResolvers<void>();
  let calls = 0;
  const wait = defineTool({
    name: 'wait',
    description: 'Waits the second time',
    parameters: z.object({}),
    execute: () => ((calls += 1) === 1 ? 'once' : raised.promise.then(() => 'twice')),
  });
  const waiter = defineAgent({ name: 'waiter', model: 'scripted/m', tools: [wait], limits: { steps: 1 } });
  await testbed.work({ agents: [waiter], providers: { scripted: scriptedModel([callTool('wait'), callTool('wait'), say('beyond')]) } });
  const run = await testbed.client.start(waiter, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'max_iterations_reached', stepsUsed: 1 });
  await run.retry();
  await run.raise({ steps: 2 });
  raised.resolve();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'beyond', stepsUsed: 2 });
});
