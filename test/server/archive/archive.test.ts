import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type ArchiveBatch, type ArchiveSink, fileArchive } from '../../../src/stores/file-archive.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { exported, JOURNEY, traveller } from './exported.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

let directory: string;
beforeEach(async () => (directory = await mkdtemp(path.join(tmpdir(), 'longhaul-archive-'))));
afterEach(() => rm(directory, { recursive: true }));

test('if the archive fails, the batch is resent, and the archive has it once', async () => {
  await using testbed = await Testbed.open();
  const files = fileArchive({ directory });
  const batches: ArchiveBatch[] = [];
  const flaky: ArchiveSink = {
    ...files,
    append: async (batch) => {
      await files.append(batch);
      // The batch is written, but the worker is told that it failed.
      if (batches.push(batch) === 1) throw new Error('the disk went away');
    },
  };
  await testbed.work({ agents: [traveller], providers: { scripted: scriptedModel(JOURNEY) }, archive: flaky });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.result();
  expect(batches.map(({ from, through }) => [from, through])).toEqual([
    [0, 8],
    [0, 8],
  ]);
  const { namespace } = testbed.client.temporal.options;
  const records = await Array.fromAsync(files.read({ namespace, runId: run.runId }));
  expect(records.map((record) => (record.type === 'event' ? record.offset : `step ${record.step}`))).toEqual([
    0,
    1,
    2,
    'step 1',
    3,
    4,
    'step 2',
    5,
    6,
    'step 3',
    7,
    'step 4',
  ]);
}, 60_000);

test('a step that is too large for any query answer is archived from history', async () => {
  await using testbed = await Testbed.open();
  const archive = fileArchive({ directory });
  const big = defineTool({
    name: 'big',
    description: 'Says much',
    parameters: z.object({ n: z.number() }),
    execute: ({ n }) => `${n}${'x'.repeat(50_000)}`,
  });
  const agent = defineAgent({ name: 'wide', model: 'scripted/m', tools: [big] });
  const [first = say(''), ...others] = Array.from({ length: 60 }, (_, n) => callTool('big', { n }, `c${n}`));
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([together(first, ...others), say('done')]) }, archive });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', toolCallsTotal: 60 });
  const { namespace } = testbed.client.temporal.options;
  const records = await Array.fromAsync(archive.read({ namespace, runId: run.runId }));
  const { lines } = await exported(run.export());
  expect(records).toEqual(lines.filter(({ type }) => type === 'event' || type === 'step'));
}, 60_000);

test('without an archive, the history has no activity for one', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [traveller], providers: { scripted: scriptedModel(JOURNEY) } });
  const { runId } = await testbed.client.run(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  const names = (await historyOf(testbed, runId)).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(names).toContain('callModel');
  expect(names).not.toContain('archiveEvents');
  expect(await readdir(directory)).toEqual([]);
});
