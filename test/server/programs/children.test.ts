import { randomUUID } from 'node:crypto';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { agent, ask, defineProgram, forEach, parallel, program, sleep, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { ProgramHandle } from '../../../src/client/run-handle.ts';
import type { ModelClient } from '../../../src/core/domain/model/model.ts';
import { callTool, say, scriptedModel, structured } from '../../../src/testing/index.ts';
import { killProcess, resultsIn, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';

const guarded = defineTool({
  name: 'guarded',
  description: 'Needs a person.',
  parameters: z.object({ id: z.string() }),
  approval: 'always',
  execute: ({ id }) => `did ${id}`,
});

const careful = defineAgent({
  name: 'careful',
  instructions: 'You ask first.',
  model: 'child/model',
  output: z.object({ letter: z.string() }),
  tools: [guarded],
});

const inner = defineProgram({
  name: 'inner',
  model: 'child/model',
  input: z.object({ name: z.string() }),
  units: [unit('one', {}, [agent('Letter', careful, 'Write to {{input.name}}')])],
  output: '{{one.Letter.letter}}',
});

const outer = defineProgram({
  name: 'outer',
  model: 'parent/model',
  units: [unit('all', {}, [program('Inner', inner, { name: 'Ann' }), ask('End', 'Was it {{Inner}}?')])],
});

const letters = (): ModelClient => scriptedModel([callTool('guarded', { id: '7' }), structured({ letter: 'Dear Ann' })]);

async function begun(testbed: Testbed, started: typeof outer = outer): Promise<ProgramHandle<unknown>> {
  return testbed.client.startProgram(started, { taskQueue: testbed.taskQueue, runId: `children-${randomUUID()}` });
}

/** Waits until a child asks for a decision, and returns it as its ancestor lists it. */
async function waitingBelow(handle: ProgramHandle<unknown>): Promise<{ runId?: string; callId: string; digest: string }> {
  await until(async () => (await handle.approvals()).pending.length > 0, 'the approval of a child', 40);
  const [waiting] = (await handle.approvals()).pending;
  if (waiting === undefined) throw new Error('nothing waits');
  return waiting;
}

/** The notes of the events of a run. */
async function notesOf(handle: ProgramHandle<unknown>): Promise<string[]> {
  const notes: string[] = [];
  for await (const { step } of handle.events())
    if (step !== undefined) notes.push(`${step.at} ${step.type} ${step.status ?? ''} ${step.child ?? ''}`);
  return notes;
}

/** Expects that a run reads from its history as its worker has told it. */
async function expectSameReadBack(testbed: Testbed, handle: ProgramHandle<unknown>): Promise<void> {
  const notes = await notesOf(handle);
  await testbed.stopWorkers();
  expect(await notesOf(handle)).toEqual(notes);
}

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

test('the cancellation of a program reaches the runs below it, and waits for them', async () => {
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
const busy = defineProgram({
  name: 'busy',
  model: 'parent/model',
  units: [
    unit('all', {}, [
      parallel('Both', [
        [agent('Letter', careful, 'Write')],
        Array.from({ length: 8 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
      ]),
      ask('End', 'Was it {{Letter.letter}}?'),
    ]),
  ],
});

test('a program continues as new while its child waits for a decision, and takes its result once', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  await testbed.work({ agents: [], programs: [busy], providers: { child: letters(), parent }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, busy);
  const waiting = await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1, 'the next execution', 40);
  await until(async () => parent.requests.length === 8, 'the other branch', 40);
  expect(await handle.status()).toMatchObject({ status: 'pending_confirmation', children: [`${handle.runId}/all.Letter`] });
  expect((await handle.approvals()).pending).toMatchObject([{ callId: waiting.callId, runId: `${handle.runId}/all.Letter` }]);
  await handle.approve(waiting);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'yes', toolCallsTotal: 1 });
  expect(result.units[0]?.steps.find(({ name }) => name === 'Letter')).toMatchObject({ status: 'completed', attempts: 1 });
  expect(result.usage.llmCalls).toBe(11);
  expect(JSON.stringify(parent.requests.at(-1)?.conversation)).toContain('Dear Ann');
  await expectSameReadBack(testbed, handle);
}, 90_000);

test('a program that has continued as new cancels a child of an earlier execution', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  await testbed.work({ agents: [], programs: [busy], providers: { child: letters(), parent }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, busy);
  await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1 && parent.requests.length === 8, 'the next execution', 40);
  await handle.cancel('enough');
  const result = await handle.result();
  expect(result.status).toBe('cancelled');
  expect(result.usage.llmCalls).toBe(9);
  expect(await executionStatus(testbed, `${handle.runId}/all.Letter`)).toBe('CANCELLED');
  await expectSameReadBack(testbed, handle);
}, 90_000);

const free = defineTool({
  name: 'free',
  description: 'Needs nobody.',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => `did ${n}`,
});
const thorough = defineAgent({ name: 'thorough', instructions: 'You work long.', model: 'child/model', tools: [guarded, free] });

test('a child that continues as new itself still reports its end to the next execution of its parent', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  const calls = Array.from({ length: 10 }, (_, n) => callTool('free', { n }));
  const child = scriptedModel([callTool('guarded', { id: '7' }), ...calls, say('Long letter')]);
  const both = defineProgram({
    name: 'both',
    model: 'parent/model',
    units: [
      unit('all', {}, [
        parallel('Both', [
          [agent('Letter', thorough, 'Write', { limits: { steps: 20 } })],
          Array.from({ length: 8 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
        ]),
        ask('End', 'Was it {{Letter}}?'),
      ]),
    ],
  });
  await testbed.work({ agents: [], programs: [both], providers: { child, parent }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, both);
  const waiting = await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1 && parent.requests.length === 8, 'the next execution', 40);
  await handle.approve(waiting);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', toolCallsTotal: 11 });
  expect((await testbed.client.handle(`${handle.runId}/all.Letter`).status()).executions).toBeGreaterThan(1);
  expect(JSON.stringify(parent.requests.at(-1)?.conversation)).toContain('Long letter');
  await expectSameReadBack(testbed, handle);
}, 90_000);

test('twenty children outlive the switches of their parent, and each result is taken once', async () => {
  await using testbed = await Testbed.open();
  const items = Array.from({ length: 20 }, (_, index) => index);
  const slow = defineAgent({ name: 'slow', instructions: 'You echo.', model: 'child/model' });
  const scripted = scriptedModel([say('')], { repeatLast: true });
  const echo: ModelClient = {
    ...scripted,
    call: async (request, context) => {
      const text = JSON.stringify(request.conversation);
      const item = Number(/Item (\d+)/.exec(text)?.[1]);
      // Some end before the switch, some during it, some after it.
      await sleepFor(100 + item * 150);
      const response = await scripted.call(request, context);
      return { ...response, content: `echo ${item}` };
    },
  };
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  const many = defineProgram({
    name: 'many',
    model: 'parent/model',
    input: z.object({ items: z.array(z.number()) }),
    units: [
      unit('all', {}, [
        parallel('Both', [
          [forEach('Each', '{{input.items}}', { as: 'n', atOnce: 20 }, [agent('One', slow, 'Item {{n}}')])],
          Array.from({ length: 20 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
        ]),
      ]),
    ],
    output: '{{all.Each}}',
  });
  await testbed.work({ agents: [], programs: [many], providers: { child: echo, parent }, continueAsNew: { events: 60 } });
  const handle = await testbed.client.startProgram(many, { input: { items }, taskQueue: testbed.taskQueue });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: items.map((item) => `echo ${item}`) });
  expect(result.usage.llmCalls).toBe(40);
  const { executions } = await handle.status();
  expect(executions).toBeGreaterThan(2);
  const notes = await notesOf(handle);
  expect(notes.filter((note) => note.includes(' attempt ') && note.includes('all.One')).length).toBe(20);
  await expectSameReadBack(testbed, handle);
}, 90_000);

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

const retried = defineProgram({
  name: 'retried',
  units: [unit('all', {}, [agent('Letter', careful, 'Write', { refine: { maxAttempts: 2 } })])],
});

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

test('the termination of a child that an earlier execution has started is noticed by a check', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  await testbed.work({
    agents: [],
    programs: [busy],
    providers: { child: letters(), parent },
    continueAsNew: { events: 40 },
    childCheckEvery: '3s',
  });
  const handle = await begun(testbed, busy);
  const { runId: below = '' } = await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1 && parent.requests.length === 8, 'the next execution', 40);
  await testbed.client.temporal.workflow.getHandle(below).terminate('operator');
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'error', errorCode: 'child_failed' });
  expect(result.error).toContain('was terminated by an operator');
  await expectSameReadBack(testbed, handle);
}, 90_000);

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
