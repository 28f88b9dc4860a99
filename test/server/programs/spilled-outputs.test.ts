import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { RunChain } from '../../../src/client/executions.ts';
import type { ProgramHandle } from '../../../src/client/index.ts';
import { ask, branch, defineProgram, forEach, human, tool, unit } from '../../../src/define/program/index.ts';
import { defineTool } from '../../../src/index.ts';
import { fileStore, type PayloadStore } from '../../../src/stores/payload-store.ts';
import { say, type ScriptedModel, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { expectSameReadBack } from './programs-with-children.ts';

const root = await mkdtemp(path.join(tmpdir(), 'longhaul-outputs-'));

afterAll(() => rm(root, { recursive: true }));

const LONG = 370_000;

/** The answer number `index`, which is long. */
const answer = (index: number): string => `answer ${index} ${'x'.repeat(LONG)}`;

const measure = defineTool({
  name: 'measure',
  description: 'Measures a text',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => `${text.slice(0, 9)}${text.length}`,
});

/** A program whose outputs are over 1 MB together, and are needed by the run itself and by its activities. */
const large = defineProgram({
  name: 'large',
  model: 'scripted/model',
  units: [
    unit('read', {}, [
      ask('A', 'a'),
      ask('B', 'b'),
      forEach('Each', '{{input.items}}', { atOnce: 1 }, [ask('One', 'one {{item}}')]),
      ask('C', 'c'),
    ]),
    unit('wait', {}, [human('Who', 'Who?')]),
    unit('write', { when: { of: 'read.B', is: { minLength: LONG } } }, [
      tool('Length', measure, { text: '{{read.A}}' }),
      branch('Way', [{ when: { of: 'read.Each', is: { minItems: 3 } }, steps: [ask('Yes', 'yes {{read.Each[1]}}')] }]),
      ask('Last', 'last {{read.C}} {{Length}}'),
    ]),
  ],
  output: { length: '{{write.Length}}', last: '{{write.Last}}' },
});

function longAnswers(): ScriptedModel {
  return scriptedModel([...Array.from({ length: 6 }, (_, index) => say(answer(index))), say('the way'), say('the end')]);
}

async function asked(testbed: Testbed): Promise<ProgramHandle<unknown>> {
  const handle = await testbed.client.startProgram(large, { input: { items: ['x', 'y', 'z'] }, taskQueue: testbed.taskQueue });
  await until(async () => (await handle.approvals()).pending.length > 0, 'the question', 60);
  return handle;
}

async function answered(handle: ProgramHandle<unknown>): Promise<void> {
  const [waiting] = (await handle.approvals()).pending;
  if (waiting !== undefined) await handle.respond(waiting, 'Ann');
}

/** The names of the activities of all executions. */
async function activitiesOf({ client: { temporal } }: Testbed, { runId }: ProgramHandle<unknown>): Promise<string[]> {
  const names: string[] = [];
  for (const { executionId } of await new RunChain(temporal, runId).executions()) {
    const { events = [] } = await temporal.workflow.getHandle(runId, executionId).fetchHistory();
    for (const { activityTaskScheduledEventAttributes: scheduled } of events ?? []) names.push(scheduled?.activityType?.name ?? '');
  }
  return names;
}

test('outputs over 1 MB are kept in the payload store, and found there by another worker', async () => {
  await using testbed = await Testbed.open();
  const scripted = longAnswers();
  const payloadStore = fileStore({ directory: path.join(root, 'kept') });
  const options = { agents: [], programs: [large], providers: { scripted }, payloadStore, continueAsNew: { events: 25 } };
  await testbed.work(options);
  const handle = await asked(testbed);
  expect((await handle.status()).executions).toBeGreaterThan(1);
  await testbed.stopWorkers();
  await testbed.work(options);
  await answered(handle);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'completed', error: null, output: { length: `answer 0 ${LONG + 9}`, last: 'the end' } });
  const prompts = scripted.requests.map(({ conversation }) => JSON.stringify(conversation[0]?.content));
  expect(prompts[6]?.includes(`yes ${answer(3)}`)).toBe(true);
  expect(prompts[7]?.includes(`last ${answer(5)} answer 0 ${LONG + 9}`)).toBe(true);
  expect(await activitiesOf(testbed, handle)).toEqual(expect.arrayContaining(['storeOutputs', 'loadOutput']));
  const files = await readdir(path.join(root, 'kept'), { recursive: true });
  expect(files.filter((file) => /[0-9a-f]{64}$/.test(file)).length).toBeGreaterThan(0);
  const resumed = await testbed.client.startProgram(large, {
    input: { items: ['x', 'y', 'z'] },
    taskQueue: testbed.taskQueue,
    resume: { run: handle.runId },
  });
  expect(await resumed.result()).toMatchObject({ status: 'error', errorCode: 'payload_too_large', stepsUsed: 0 });
  await expectSameReadBack(testbed, handle);
}, 120_000);

test('a step that needs an output which the store has lost fails, and says where the output was', async () => {
  await using testbed = await Testbed.open();
  const directory = path.join(root, 'lost');
  const options = { agents: [], programs: [large], providers: { scripted: longAnswers() }, payloadStore: fileStore({ directory }) };
  await testbed.work({ ...options, continueAsNew: { events: 25 } });
  const handle = await asked(testbed);
  await testbed.stopWorkers();
  await rm(directory, { recursive: true });
  await testbed.work(options);
  await answered(handle);
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'error', errorCode: 'spilled_unavailable' });
  expect(result.error).toMatch(
    /lacks an output that it refers to: The output of step "read\.\w+" is in payload store "files" \(SHA-256 [0-9a-f]{64}\), and could not be read/,
  );
  await expectSameReadBack(testbed, handle);
}, 120_000);

test('without a payload store the run ends, and names the step with the largest output', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [large], providers: { scripted: longAnswers() }, continueAsNew: { events: 25 } });
  const handle = await testbed.client.startProgram(large, { input: { items: ['x', 'y', 'z'] }, taskQueue: testbed.taskQueue });
  const result = await handle.result();
  expect(result).toMatchObject({ status: 'error', errorCode: 'payload_too_large' });
  expect(result.error).toContain('this worker has no payload store');
  expect(result.error).toMatch(/The largest is the output of step "read\.\w+", with \d+ bytes: give createWorker a payload store/);
  await expectSameReadBack(testbed, handle);
}, 120_000);

test('a run that is cancelled while its outputs are being stored ends as cancelled', async () => {
  await using testbed = await Testbed.open();
  const files = fileStore({ directory: path.join(root, 'slow') });
  let isStoring = false;
  const slow: PayloadStore = {
    ...files,
    store: () => {
      isStoring = true;
      return Promise.withResolvers<never>().promise;
    },
  };
  const options = { agents: [], programs: [large], providers: { scripted: longAnswers() }, payloadStore: slow };
  await testbed.work({ ...options, continueAsNew: { events: 25 } });
  const handle = await testbed.client.startProgram(large, { input: { items: ['x', 'y', 'z'] }, taskQueue: testbed.taskQueue });
  await until(() => isStoring, 'the store', 60);
  expect((await handle.status()).running).toMatchObject([{ name: 'storeOutputs', attempt: 1 }]);
  await handle.cancel('enough');
  expect(await handle.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  await expectSameReadBack(testbed, handle);
}, 120_000);
