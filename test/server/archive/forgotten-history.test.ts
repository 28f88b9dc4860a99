import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileArchive } from '../../../src/stores/file-archive.ts';
import type { ExportLine } from '../../../src/client/export-run.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { EVERY_STEP, exported, forgetFirst, JOURNEY, partsOf, traveller } from './exported.ts';
import { Testbed } from '../testbed/testbed.ts';

/** A run of several executions that has ended. */
async function journeyOn(testbed: Testbed, more: Pick<CreateWorkerOptions, 'archive'> = {}): Promise<RunHandle> {
  await testbed.work({ agents: [traveller], providers: { scripted: scriptedModel(JOURNEY) }, continueAsNew: EVERY_STEP, ...more });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.result();
  return run;
}

test('events that the server has removed are named by their offsets, and the others can still be read', async () => {
  await using testbed = await Testbed.open();
  const run = await journeyOn(testbed);
  const from = await forgetFirst(testbed, run.runId, 1);
  const removed = { code: 'history_removed', message: expect.stringContaining(`Events 0 to ${from - 1} `) as string };
  await expect(Array.fromAsync(run.events())).rejects.toMatchObject(removed);
  await expect(run.context()).rejects.toMatchObject(removed);
  expect(await Array.fromAsync(run.events({ from }))).toHaveLength(8 - from);
  const { firstStep } = (await new RunChain(testbed.client.temporal, run.runId).executions())[0] ?? {};
  expect((await run.steps()).map(({ step }) => step)).toEqual([1, 2, 3, 4].slice(firstStep));
}, 300_000);

test('if retention has removed the beginning of a run, the export names the missing offsets, and the command fails', async () => {
  await using testbed = await Testbed.open();
  const run = await journeyOn(testbed);
  const first = await forgetFirst(testbed, run.runId, 2);
  const { offsets, steps, summary } = await exported(run.export());
  expect(offsets).toEqual(Array.from({ length: 8 - first }, (_, index) => first + index));
  expect(summary?.gaps).toEqual([{ from: 0, through: first }]);
  expect(summary?.missingSteps).toEqual([{ from: 0, through: (steps[0] ?? 0) - 1 }]);
  const command = await callCli(['export', run.runId, '--address', testbed.address]);
  expect(command.exitCode).toBe(10);
  expect(command.stderr).toContain(`Missing events: offsets 0 to ${first - 1}`);
  expect(
    partsOf(
      command.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as ExportLine),
    ).summary,
  ).toEqual(summary);
}, 300_000);

test('an archived run is exported whole after the server has removed its beginning, and after it has removed all of it', async () => {
  await using testbed = await Testbed.open();
  const directory = await mkdtemp(path.join(tmpdir(), 'longhaul-archive-'));
  const archive = fileArchive({ directory });
  const run = await journeyOn(testbed, { archive });
  const whole = await exported(run.export());
  const records = whole.lines.filter(({ type }) => type === 'event' || type === 'step');

  const first = await forgetFirst(testbed, run.runId, 2);
  expect((await exported(run.export())).summary?.gaps).toEqual([{ from: 0, through: first }]);
  const mended = await exported(run.export({ archive }));
  expect(mended.summary).toMatchObject({ events: 8, steps: 4, gaps: [], missingSteps: [] });
  expect(mended.lines.filter(({ type }) => type === 'event' || type === 'step')).toEqual(records);
  expect(mended.types.slice(0, 2)).toEqual(['run', 'archive']);
  expect((await callCli(['export', run.runId, '--archive', directory, '--address', testbed.address])).exitCode).toBe(0);

  await forgetFirst(testbed, run.runId, Infinity);
  const archived = await exported(run.export({ archive }));
  expect(archived.summary).toMatchObject({ events: 8, steps: 4, executions: 0, gaps: [] });
  // Only the workflow knows the id of the last event, and the archive got it from there.
  expect(archived.offsets).toEqual(whole.offsets);
  await rm(directory, { recursive: true });
}, 300_000);
