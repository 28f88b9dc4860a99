import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ArchiveSink, fileArchive } from '../../../src/stores/file-archive.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { RunChain } from '../../../src/client/executions.ts';
import type { RunningCall } from '../../../src/core/protocol.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { EVERY_STEP, exported, forgetFirst, JOURNEY, traveller } from './exported.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';

let directory: string;
beforeEach(async () => (directory = await mkdtemp(path.join(tmpdir(), 'longhaul-sinks-'))));
afterEach(() => rm(directory, { recursive: true }));

/** A file archive that accepts a batch only if `takes` does. */
function archiveThat(takes: (from: number) => Promise<void> | void): ArchiveSink {
  const files = fileArchive({ directory });
  return {
    ...files,
    append: async (batch) => {
      await takes(batch.from);
      await files.append(batch);
    },
  };
}

const gone = (): never => {
  throw new Error('the bucket is gone');
};

/** Throws an error whose retry delay is longer than these tests take. */
const goneForLong = (): never => {
  throw Object.assign(new Error('the bucket is gone'), { retryAfterMs: 600_000 });
};

async function detailsOf({ client }: Testbed, runId: string): Promise<string> {
  const handle = client.temporal.workflow.getHandle(runId);
  return (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails ?? '';
}

async function calling(run: RunHandle<unknown>, name: string): Promise<RunningCall | undefined> {
  return (await run.status()).running?.find((call) => call.name === name);
}

describe('an archive that always fails', () => {
  test('delays neither the next execution nor the end of a run for long, and the run names the events that are not archived', async () => {
    await using testbed = await Testbed.open();
    const archive = archiveThat(goneForLong);
    await testbed.work({
      agents: [traveller],
      providers: { scripted: scriptedModel(JOURNEY) },
      continueAsNew: { events: 30 },
      archive,
    });
    const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
    const result = await run.result();
    const notArchived = [{ from: 0, through: 8, message: expect.stringContaining('the bucket is gone (given up after') as string }];
    expect(result).toMatchObject({ status: 'completed', notArchived });
    const status = await run.status();
    expect(status).toMatchObject({ notArchived });
    expect(status.archiving).toBeUndefined();
    expect(status.executions).toBeGreaterThan(1);
    expect(await detailsOf(testbed, run.runId)).toContain('**Not in the archive** events 0 to 7: the bucket is gone');
    await expectSameFromHistory(testbed, run);
    const shown = await callCli(['show', run.runId, '--address', testbed.address]);
    expect(shown.stdout).toContain('lacks events 0 to 7: the bucket is gone');

    const whole = await exported(run.export({ archive }));
    expect(whole.summary).toMatchObject({ events: 8, gaps: [], notArchived });
    const written = await callCli(['export', run.runId, '--archive', directory, '--address', testbed.address]);
    expect(written.exitCode).toBe(0);
    expect(written.stderr).toContain('Not in the archive of the run: offsets 0 to 7');
  }, 60_000);

  test('does not keep a cancelled run from closing as Canceled, with its result', async () => {
    await using testbed = await Testbed.open();
    const scripted = scriptedModel(JOURNEY);
    await testbed.work({ agents: [traveller], providers: { scripted }, archive: archiveThat(gone), archiveTimeout: 2_000 });
    const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
    await run.pause();
    await run.cancel('enough');
    expect(await run.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough', notArchived: [{ from: 0 }] });
    expect(await executionStatus(testbed, run.runId)).toBe('CANCELLED');
  }, 60_000);
});

test('the worker gives up an archive that never answers like a failing one, and still drains', async () => {
  await using testbed = await Testbed.open();
  let asked = 0;
  const hangs = (): Promise<void> => {
    asked += 1;
    return new Promise(() => undefined);
  };
  await testbed.work({
    agents: [traveller],
    providers: { scripted: scriptedModel(JOURNEY) },
    archive: archiveThat(hangs),
    archiveTimeout: 2_000,
  });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  const message = expect.stringContaining('it took more than 0.4 s') as string;
  expect(await run.result()).toMatchObject({ status: 'completed', notArchived: [{ from: 0, through: 8, message }] });
  expect(asked).toBeGreaterThan(0);
  await testbed.stopWorkers();
}, 60_000);

test('if the archive lacks the middle of a run, the export names the gap once the server has removed those events', async () => {
  await using testbed = await Testbed.open();
  const begun: number[] = [];
  const archive = archiveThat((from) => {
    if (!begun.includes(from)) begun.push(from);
    if (from === begun[1]) goneForLong();
  });
  await testbed.work({
    agents: [traveller],
    providers: { scripted: scriptedModel(JOURNEY) },
    continueAsNew: EVERY_STEP,
    archive,
  });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  const { notArchived } = await run.result();
  await expectSameFromHistory(testbed, run);
  const gap = { from: begun[1], through: begun[2] };
  expect(notArchived).toMatchObject([gap]);
  const executions = await new RunChain(testbed.client.temporal, run.runId).executions();
  await forgetFirst(testbed, run.runId, executions.length - 1);
  expect((await exported(run.export({ archive }))).summary).toMatchObject({ gaps: [gap], notArchived: [gap] });
}, 180_000);

test('if the archive fails for a while, the run shows the reason, the batches are resent, and the archive ends complete', async () => {
  await using testbed = await Testbed.open();
  let isDown = true;
  const archive = archiveThat(() => {
    if (isDown) gone();
  });
  const scripted = scriptedModel(JOURNEY);
  await testbed.work({ agents: [traveller], providers: { scripted }, archive, archiveTimeout: 120_000 });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => ((await calling(run, 'archiveEvents'))?.attempt ?? 0) > 3, 'three failed attempts', 30);
  const { archiving, notArchived } = await run.status();
  expect(archiving).toMatchObject({ from: 0, through: 8 });
  expect(notArchived).toBeUndefined();
  expect(await calling(run, 'archiveEvents')).toMatchObject({ lastFailure: 'the bucket is gone' });
  expect(await detailsOf(testbed, run.runId)).toContain(`**Archiving** events 0 to 7 since ${archiving?.since}`);
  const shown = await callCli(['show', run.runId, '--address', testbed.address]);
  expect(shown.stdout).toContain(`takes events 0 to 7 since ${archiving?.since}`);
  expect(shown.stdout).toMatch(
    /archiveEvents … sends events to the archive \(attempt \d+\)\n.*the attempt before failed: the bucket is gone/,
  );
  await expectSameFromHistory(testbed, run);
  isDown = false;
  expect((await run.result()).notArchived).toBeUndefined();
  expect((await run.status()).archiving).toBeUndefined();
  const { namespace } = testbed.client.temporal.options;
  const records = await Array.fromAsync(archive.read({ namespace, runId: run.runId }));
  expect(records.flatMap((record) => (record.type === 'event' ? [record.offset] : []))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
}, 60_000);
