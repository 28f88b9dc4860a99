import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent, ask, defineProgram, forEach, unit } from '../../../src/define/program/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { begun, expectSameReadBack, letters, notesOf, outer, waitingBelow } from './programs-with-children.ts';

const brief = defineAgent({ name: 'brief', instructions: 'You answer.', model: 'child/model', limits: { steps: 2 } });

test('children that share a limit run as far as it allows, the others wait, and the history reads back the same', async () => {
  await using testbed = await Testbed.open();
  const each = defineProgram({
    name: 'each',
    input: z.object({ items: z.array(z.number()).default([1, 2, 3, 4, 5, 6]) }),
    limits: { steps: 6 },
    units: [unit('all', {}, [forEach('Each', '{{input.items}}', { as: 'n', atOnce: 6 }, [agent('One', brief, 'Item {{n}}')])])],
  });
  const child = scriptedModel([say('done')], { repeatLast: true });
  await testbed.work({ agents: [], programs: [each], providers: { child } });
  const handle = await testbed.client.startProgram(each, { input: {}, taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({ status: 'completed', stepsUsed: 6 });
  // The starts and the ends of children, in order: never more than three at once, which hold two steps each.
  const notes = (await notesOf(handle)).filter((note) => note.includes('all.One') && note.endsWith(']'));
  let [running, most] = [0, 0];
  for (const note of notes) most = Math.max(most, (running += note.includes(' start ') ? 1 : -1));
  expect(most).toBe(3);
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('a program waits at its limit across executions, and continues once a person has approved', async () => {
  await using testbed = await Testbed.open();
  const program = defineProgram({
    name: 'patient',
    model: 'parent/model',
    limits: { steps: 1 },
    onLimit: 'ask',
    units: [unit('one', {}, [ask('A', 'First'), ask('B', 'Second')])],
  });
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  await testbed.work({ agents: [], programs: [program], providers: { parent }, continueAsNew: { events: 40 } });
  const handle = await testbed.client.startProgram(program, { taskQueue: testbed.taskQueue });
  const pending = async () => (await handle.approvals()).pending;
  await until(async () => (await pending()).length > 0, 'the request', 40);
  const [before] = await pending();
  expect(before).toMatchObject({ kind: 'limit', reason: '1 of 1 steps are used', arguments: { steps: 2 } });
  // Each of them grows the history.
  for (let resumed = 0; resumed < 12; resumed += 1) await handle.resume();
  await until(async () => (await handle.status()).executions > 1, 'the next execution', 40);
  expect(await pending()).toMatchObject([{ callId: before?.callId, digest: before?.digest }]);
  await handle.approve(before?.callId ?? '');
  expect(await handle.result()).toMatchObject({ status: 'completed', stepsUsed: 2, limits: { steps: 2 } });
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('the search attributes and the status of a program name the step and the child that wait for a person', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [outer], providers: { child: letters(), parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed, outer);
  const waiting = await waitingBelow(handle);
  const workflow = testbed.client.temporal.workflow.getHandle(handle.runId);
  const shown = async (): Promise<unknown> => (await workflow.describe()).searchAttributes['LonghaulWaitingFor'];
  await until(async () => JSON.stringify(await shown()) === '["all.Inner"]', 'the search attribute', 40);
  expect(await handle.status()).toMatchObject({ status: 'pending_confirmation', waitingChildren: [`${handle.runId}/all.Inner`] });
  await handle.approve(waiting);
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(await shown()).not.toEqual(['all.Inner']);
}, 60_000);
