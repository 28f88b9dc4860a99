import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { agent, ask, defineProgram, forEach, parallel, sleep, unit } from '../../../src/define/program/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, say, scriptedModel, structured } from '../../../src/testing/index.ts';
import { killProcess, resultsIn, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';
import { begun, expectSameReadBack, guarded, letters, outer, retried, waitingBelow } from './programs-with-children.ts';

test('a program runs a program that runs an agent, and the root decides what waits below', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [outer], providers: { child: letters(), parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed);
  const waiting = await waitingBelow(handle);
  expect(waiting.runId).toBe(`${handle.runId}/all.Inner/one.Letter`);
  await until(async () => (await handle.status()).status === 'pending_confirmation', 'the status of the root');
  expect(await handle.status()).toMatchObject({ children: [`${handle.runId}/all.Inner`] });
  await handle.approve(waiting.callId);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'yes', toolCallsTotal: 1 });
  expect(result.units[0]?.steps[0]).toMatchObject({ kind: 'program', output: 'Dear Ann' });
  expect(result.usage.llmCalls).toBe(3);
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('a child alone costs its parent nine events', async () => {
  await using testbed = await Testbed.open();
  const plain = defineAgent({ name: 'plain', instructions: 'You answer.', model: 'child/model' });
  const one = defineProgram({ name: 'one', units: [unit('u', {}, [sleep('Nap', '10ms'), agent('A', plain, 'Go')])] });
  const none = defineProgram({ name: 'none', units: [unit('u', {}, [sleep('Nap', '10ms')])] });
  await testbed.work({ agents: [], programs: [one, none], providers: { child: scriptedModel([say('Done')]) } });
  const [withChild, without] = [await begun(testbed, one), await begun(testbed, none)];
  expect((await withChild.result()).output).toBe('Done');
  await without.result();
  const more = (await historyOf(testbed, withChild.runId)).length - (await historyOf(testbed, without.runId)).length;
  expect(more).toBe(9);
}, 60_000);

test('the cancellation of a program reaches its descendants, and waits for them', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [outer], providers: { child: letters(), parent: scriptedModel([]) } });
  const handle = await begun(testbed);
  const { runId: below = '' } = await waitingBelow(handle);
  await handle.cancel('enough');
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  expect(result.usage.llmCalls).toBe(1);
  expect(await executionStatus(testbed, below)).toBe('CANCELLED');
  expect(await executionStatus(testbed, `${handle.runId}/all.Inner`)).toBe('CANCELLED');
  await expectSameReadBack(testbed, handle);
}, 60_000);

/** A program that continues as new while its child waits: the other branch fills the history. */
test('an output that is too large for the closing event of a child arrives whole', async () => {
  await using testbed = await Testbed.open();
  const text = 'long '.repeat(20_000);
  const plain = defineAgent({ name: 'plain', instructions: 'You answer.', model: 'child/model' });
  const one = defineProgram({
    name: 'one',
    model: 'parent/model',
    units: [unit('u', {}, [agent('A', plain, 'Go'), ask('B', 'Sum up {{A}}')])],
  });
  const parent = scriptedModel([say('short')]);
  await testbed.work({ agents: [], programs: [one], providers: { child: scriptedModel([say(text)]), parent } });
  const handle = await begun(testbed, one);
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'short' });
  expect(JSON.stringify(parent.requests[0]?.conversation)).toContain(text);
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('children whose inputs are too large for one workflow task together are started in turn', async () => {
  await using testbed = await Testbed.open();
  const plain = defineAgent({ name: 'plain', instructions: 'You answer.', model: 'child/model' });
  const items = Array.from({ length: 20 }, (_, index) => index);
  const many = defineProgram({
    name: 'many',
    model: 'child/model',
    units: [
      unit('u', {}, [
        forEach('Each', '{{input.items}}', { as: 'n', atOnce: 20 }, [
          parallel('Both', [[agent('A', plain, '{{n}} {{input.text}}')], [ask('B', '{{n}} {{input.text}}', { tools: [guarded] })]]),
        ]),
      ]),
    ],
  });
  await testbed.work({ agents: [], programs: [many], providers: { child: scriptedModel([say('Done')], { repeatLast: true }) } });
  // Text that no codec makes much smaller.
  const input = { items, text: randomBytes(90_000).toString('base64') };
  const handle = await testbed.client.startProgram(many, { input, taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({ status: 'completed', output: items.map(() => ['Done', 'Done']) });
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('a child that is terminated from outside is a failed attempt', async () => {
  await using testbed = await Testbed.open();
  const child = scriptedModel([callTool('guarded', { id: '7' }), structured({ letter: 'Dear Ann' })]);
  await testbed.work({ agents: [], programs: [retried], providers: { child } });
  const handle = await begun(testbed, retried);
  const { runId: below = '' } = await waitingBelow(handle);
  await testbed.client.temporal.workflow.getHandle(below).terminate('operator');
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: { letter: 'Dear Ann' } });
  expect(result.units[0]?.steps[0]).toMatchObject({ attempts: 2 });
  expect(JSON.stringify(child.requests[1]?.conversation)).toContain('run_terminated');
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('the children of a program that is terminated from outside end by themselves', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [retried], providers: { child: letters() }, childCheckEvery: '2s' });
  const handle = await begun(testbed, retried);
  const { runId: below = '' } = await waitingBelow(handle);
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate('operator');
  await until(async () => (await executionStatus(testbed, below)) === 'CANCELLED', 'the end of the child', 40);
  const ended = await testbed.client.handle(below).result();
  expect(ended.cancelReason).toContain(`The run "${handle.runId}", which started this one, has ended`);
}, 60_000);

test('a worker that is killed while a child runs: the program ends the same', async () => {
  await using testbed = await Testbed.open();
  let kill = async (): Promise<void> => undefined;
  let killed = 0;
  const model = await startWorkingModel(async (request) => {
    if (resultsIn(request) !== 2 || killed++ > 0) return;
    await kill();
  });
  const tools = await startToolServer(async () => undefined);
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
  };
  const first = await startWorkerProcess(environment);
  const document = defineProgram({ name: 'killed', units: [unit('u', {}, [agent('Work', 'worker_agent', 'Work!')])] });
  const dead = new Promise<void>((resolve) => {
    kill = async () => {
      await killProcess(first);
      resolve();
    };
  });
  const handle = await testbed.client.startProgram(document.toJSON(), { taskQueue: testbed.taskQueue });
  await dead;
  const second = await startWorkerProcess(environment);
  const result = await handle.result({ timeout: 40_000 });
  await killProcess(second);
  await Promise.all([model.close(), tools.close()]);
  expect(result).toMatchObject({ status: 'completed', output: 'all done', toolCallsTotal: 3 });
  expect(tools.calls).toEqual(['/work/0', '/work/1', '/work/2']);
}, 90_000);
