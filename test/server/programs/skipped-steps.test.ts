import { expect, test } from 'vitest';
import { ask, branch, defineProgram, repeat } from '../../../src/define/program/index.ts';
import type { ProgramHandle } from '../../../src/client/run-handle.ts';
import type { ProgramDocument } from '../../../src/core/domain/program-document.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

/** Returns the step of each event of a run. */
async function addresses(handle: Pick<ProgramHandle<unknown>, 'events'>): Promise<string[]> {
  const steps: string[] = [];
  for await (const { step } of handle.events()) steps.push(step?.at ?? '');
  return steps;
}

const NEVER = { of: 'input.none', is: {} };

test('a thousand skipped steps are divided into workflow tasks, and read back from history', async () => {
  const program = defineProgram({
    name: 'skips',
    model: 'scripted/model',
    lenient: true,
    units: [
      {
        name: 'u',
        steps: [
          repeat('Rounds', { until: NEVER, atMost: 1_200 }, [ask('Never', 'never', { when: NEVER })]).document,
          ask('Last', 'last').document,
        ],
      },
    ],
  });
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('done')]);
  await testbed.work({ agents: [], programs: [program], providers: { scripted } });
  const handle = await testbed.client.startProgram(program, { taskQueue: testbed.taskQueue });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', output: 'done' });
  const live = await addresses(handle);
  expect(live.filter((at) => at === 'u.Never[1199]')).toHaveLength(2);
  await testbed.stopWorkers();
  expect(await addresses(handle)).toEqual(live);
});

test('a document of sixteen levels of blocks runs as the input of a run', async () => {
  let step = ask('Inner', 'go').document;
  for (let level = 1; level < 16; level += 1)
    step = branch(`B${level}`, [{ when: { of: 'input.n', is: { const: 1 } }, steps: [step] }]).document;
  const program: ProgramDocument = { version: 1, name: 'deep', model: 'scripted/model', units: [{ name: 'u', steps: [step] }] };
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [], providers: { scripted: scriptedModel([say('deep')]) } });
  const handle = await testbed.client.startProgram(program, { input: { n: 1 }, taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'deep' });
});
