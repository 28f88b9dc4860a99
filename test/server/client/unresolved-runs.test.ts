import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ask, defineProgram, program, unit } from '../../../src/define/program/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('a run that fails before its agent or program is resolved is listed and counted under its name, and so are sessions and children', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  const desk = defineAgent({ name: `desk-${randomUUID()}`, model: 'scripted/m', deps: z.object({ customer: z.string() }) });
  const letters = defineProgram({
    name: `letters-${randomUUID()}`,
    model: 'scripted/m',
    input: { type: 'object', required: ['to'], properties: { to: { type: 'integer' } } },
    units: [unit('all', {}, [ask('Letter', 'Write')])],
  });
  const parent = defineProgram({
    name: `parent-${randomUUID()}`,
    units: [unit('all', {}, [program('Letter', letters.name, { to: '{{input.to}}' })])],
  });
  await testbed.work({ agents: [desk], programs: [letters, parent], providers: { scripted: scriptedModel([say('a')]) } });
  const session = client.session(desk.name, { id: `talk-${randomUUID()}`, taskQueue });
  await session.open();
  const runs = [
    { runId: session.id },
    await client.start(desk.name, { input: 'Q', taskQueue }),
    await client.startProgram(letters.name, { taskQueue }),
    await client.startProgram(parent.name, { input: { to: 'ada' }, taskQueue }),
  ];
  for (const { runId } of runs) expect(await client.handle(runId).result()).toMatchObject({ status: 'error' });

  const query = `TaskQueue = '${taskQueue}'`;
  const namesOf = async (filter: object): Promise<(string | undefined)[]> =>
    (await Array.fromAsync(client.list({ status: 'error', query, ...filter })))
      .map(({ agentName }) => agentName)
      .toSorted((a = '', b = '') => a.localeCompare(b));
  await until(async () => (await namesOf({})).length === 5, 'the ends to be listed');
  expect(await namesOf({})).toEqual([desk.name, desk.name, letters.name, letters.name, parent.name]);
  expect(await namesOf({ agent: desk.name })).toHaveLength(2);
  expect((await client.counts('agent', { query })).counts).toEqual([
    ...[desk.name, letters.name].map((value) => ({ value, runs: 2 })),
    { value: parent.name, runs: 1 },
  ]);
});
