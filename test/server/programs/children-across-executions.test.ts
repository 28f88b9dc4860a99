import { setTimeout as sleepFor } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent, ask, defineProgram, forEach, parallel, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';
import { begun, busy, expectSameReadBack, guarded, letters, notesOf, waitingBelow } from './programs-with-children.ts';

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

test('an ask with tools that continues as new, like its program, is judged by its verdict in a later execution', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  const calls = Array.from({ length: 10 }, (_, n) => callTool('free', { n }));
  const child = scriptedModel([callTool('guarded', { id: '7' }), ...calls, say('Long letter'), say('Long letter [1]')]);
  const both = defineProgram({
    name: 'both',
    model: 'parent/model',
    units: [
      unit('all', { anchors: ['RequiresCitation'] }, [
        ask('Letter', 'Write', { model: 'child/model', tools: [guarded, free], limits: { steps: 20 }, refine: { maxAttempts: 2 } }),
      ]),
      unit(
        'busy',
        { needs: [] },
        Array.from({ length: 8 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
      ),
    ],
    output: '{{all.Letter}}',
  });
  await testbed.work({ agents: [], programs: [both], providers: { child, parent }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, both);
  const waiting = await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1 && parent.requests.length === 8, 'the next execution', 40);
  await handle.approve(waiting);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'Long letter [1]', toolCallsTotal: 11 });
  expect(result.units[0]?.steps[0]).toMatchObject({ attempts: 2 });
  expect((await testbed.client.handle(`${handle.runId}/all.Letter`).status()).executions).toBeGreaterThan(1);
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
