import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileArchive } from '../../../src/stores/file-archive.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { fileStore } from '../../../worker/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { EVERY_STEP, traveller } from './exported.ts';
import { dump } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const dumper = defineAgent({ name: 'dumper', model: 'scripted/m', tools: [dump] });

async function filesIn(directory: string): Promise<number> {
  return (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;
}

test('deleting a run removes all its executions, its spilled results and its archive', async () => {
  await using testbed = await Testbed.open();
  const directory = await mkdtemp(path.join(tmpdir(), 'longhaul-delete-'));
  const [spilled, archived] = [path.join(directory, 'spilled'), path.join(directory, 'archived')];
  const stores = { payloadStore: fileStore({ directory: spilled }), archive: fileArchive({ directory: archived }) };
  const scripted = scriptedModel([callTool('dump', {}, 'c1'), callTool('dump', {}, 'c2'), say('done')]);
  await testbed.work({ agents: [dumper], providers: { scripted }, continueAsNew: EVERY_STEP, ...stores });
  const run = await testbed.client.start(dumper, { input: 'Q', taskQueue: testbed.taskQueue });
  await run.result();
  const { temporal } = testbed.client;
  const executions = await new RunChain(temporal, run.runId).executions();
  expect(executions.length).toBeGreaterThan(1);
  // One file for each execution, and one that names their owner.
  expect([await filesIn(spilled), await filesIn(archived)]).toEqual([expect.any(Number), executions.length + 1]);
  expect(await filesIn(spilled)).toBeGreaterThan(0);

  const flags = ['--address', testbed.address, '--payload-store', spilled, '--archive', archived];
  expect(await callCli(['delete', run.runId, ...flags])).toMatchObject({ exitCode: 0, stdout: `Run "${run.runId}" is deleted\n` });
  expect([await filesIn(spilled), await filesIn(archived)]).toEqual([0, 0]);
  for (const { executionId } of executions) {
    const isGone = (): Promise<boolean> =>
      temporal.workflow
        .getHandle(run.runId, executionId)
        .describe()
        .then(
          () => false,
          () => true,
        );
    await until(isGone, `execution ${executionId} to be removed`, 180);
  }
  await expect(run.status()).rejects.toMatchObject({ code: 'run_not_found' });
  expect(await run.delete(stores)).toBe('not_found');
  await rm(directory, { recursive: true });
}, 300_000);

test('an open run is not deleted, and the error says to cancel it first', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang()]);
  await testbed.work({ agents: [traveller], providers: { scripted }, heartbeatEvery: 200 });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the model call');
  await expect(run.delete()).rejects.toMatchObject({ code: 'run_open', message: expect.stringContaining('cancel it first') as string });
  expect((await callCli(['delete', run.runId, '--address', testbed.address])).exitCode).toBe(2);
  expect((await run.status()).status).toBe('running');
  await run.cancel('to delete it');
  await run.result();
  expect(await run.delete()).toBe('deleted');
}, 300_000);
