import { ExternalStorage } from '@temporalio/common';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { connect, type LonghaulClient } from '../../../src/client/index.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { defineAgent, defineTool, toolOutput, UsageError } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { createWorker, fileStore } from '../../../worker/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const ROWS = Array.from({ length: 3_000 }, (_, index) => ({ row: index, text: `content of row ${index}` }));

const exportRows = defineTool({
  name: 'export_rows',
  description: 'Exports all rows',
  parameters: z.object({}),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: () => toolOutput(['All rows:', { rows: ROWS }]),
});

const agent = defineAgent({ name: 'exporter', model: 'scripted/model-1', instructions: 'Answer.', tools: [exportRows] });

let directory: string;
beforeEach(async () => (directory = await mkdtemp(path.join(tmpdir(), 'longhaul-spill-'))));
afterEach(() => rm(directory, { recursive: true }));

async function files(): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** A client on the same server with the payload store. */
async function readerOf(testbed: Testbed): Promise<LonghaulClient> {
  const { namespace } = testbed.client.temporal.options;
  return connect({ address: testbed.address, namespace, payloadStore: fileStore({ directory }) });
}

test('a spilled result: the model reads a preview, the history holds a reference, the client reads the whole, and the store deletes it with the run', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('export_rows', {}, 'c1'), say('done')]);
  const payloadStore = fileStore({ directory });
  await testbed.work({ agents: [agent], providers: { scripted }, payloadStore });
  const result = await testbed.client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(result).toMatchObject({ status: 'completed' });

  const read = scripted.requests[1]?.conversation.at(-1)?.content[0];
  const preview = read?.type === 'tool_result' ? read.content : [];
  expect(jsonBytes(preview)).toBeLessThanOrEqual(2_000);
  expect(preview[0]).toMatch(/^All rows:\n\[Preview: \d+ of \d+ bytes of this result are not shown here; the whole is stored\./);
  expect(preview[1]).toMatch(/^\{"rows":\[\{"row":0,/);

  const history = await historyOf(testbed, result.runId);
  expect(JSON.stringify(history.map((event) => event.activityTaskCompletedEventAttributes?.result)).length).toBeLessThan(10_000);

  const client = await readerOf(testbed);
  const spilled = result.steps?.[0]?.toolCalls[0]?.spilled;
  if (spilled === undefined) throw new Error('The step names nothing that was spilled');
  expect(spilled).toMatchObject({ store: 'files', bytes: jsonBytes(['All rows:', { rows: ROWS }]) });
  const { events } = await testbed.client.handle(result.runId).context();
  expect(events.flatMap((event) => event.content)).toContainEqual(expect.objectContaining({ type: 'tool_result', spilled }));

  await testbed.stopWorkers();
  expect(await client.readSpilled(spilled)).toEqual(['All rows:', { rows: ROWS }]);
  await payloadStore.deleteRun({ namespace: client.temporal.options.namespace, runId: result.runId });
  await expect(client.readSpilled(spilled)).rejects.toMatchObject({ code: 'spilled_unavailable' });
  expect(await files()).toEqual([]);
  await client.close();
  await expect(testbed.client.readSpilled(spilled)).rejects.toThrow(UsageError);
});

test('a spilled result is encrypted like all other data of the run', async () => {
  const codec = { encryption: { activeKeyId: 'k1', keys: { k1: Buffer.alloc(32, 7) } } };
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('export_rows', {}, 'c1'), say('done')]);
  const payloadStore = fileStore({ directory });
  await testbed.work({ agents: [agent], providers: { scripted }, payloadStore, codec });
  const { namespace } = testbed.client.temporal.options;
  const client = await connect({ address: testbed.address, namespace, payloadStore, codec });
  const result = await client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  const [file = ''] = await files();
  expect(await readFile(file, 'utf8')).not.toContain('content of row');
  const spilled = result.steps?.[0]?.toolCalls[0]?.spilled;
  expect(spilled && (await client.readSpilled(spilled))).toEqual(['All rows:', { rows: ROWS }]);
  await client.close();
});

test('creating a worker without a store fails if a tool spills, and the error names both', async () => {
  await expect(createWorker({ agents: [agent], providers: { scripted: scriptedModel([]) } })).rejects.toThrow(
    new UsageError(
      'tool "export_rows" of agent "exporter" has "overflow": "spill", but the worker has no "payloadStore": give it one, such as fileStore({directory})',
    ),
  );
});

test("the same store serves Temporal's own external storage, for every payload above a threshold", async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('export_rows', {}, 'c1'), say('x'.repeat(30_000))]);
  const payloadStore = fileStore({ directory });
  const dataConverter = { externalStorage: new ExternalStorage({ drivers: [payloadStore], payloadSizeThreshold: 20_000 }) };
  await testbed.work({ agents: [agent], providers: { scripted }, payloadStore, worker: { dataConverter } });
  const { namespace } = testbed.client.temporal.options;
  const client = await connect({ address: testbed.address, namespace, client: { dataConverter } });
  const result = await client.run(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', output: 'x'.repeat(30_000) });
  const history = JSON.stringify(await historyOf(testbed, result.runId));
  expect(history).not.toContain(Buffer.from('x'.repeat(300)).toString('base64'));
  const stored = await Promise.all((await files()).map((file) => readFile(file, 'utf8')));
  expect(stored.filter((file) => file.includes('x'.repeat(30_000)))).not.toEqual([]);
  await client.close();
});
