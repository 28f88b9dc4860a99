import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileStore, LonghaulClient, type UserExportLine } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { defineAgent } from '../../../../src/index.ts';
import { fileMemory } from '../../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../../src/memory/memory-store.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { type CliOutcome, callCli } from '../../../cli/call-cli.ts';
import { dump } from '../../testbed/agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });
const teller = defineAgent({ name: 'teller', model: 'telling/m', tools: [dump] });

/** A model that reads a long result and answers, in each run. */
const telling: ModelClient = {
  capabilities: { structuredOutput: true },
  call: (request, context) => {
    const isRead = JSON.stringify(request.conversation).includes('tool_result');
    return scriptedModel([isRead ? say('Told') : callTool('dump', {})]).call(request, context);
  },
};

async function linesOf(client: LonghaulClient, options: Parameters<LonghaulClient['exportUser']>[0]): Promise<UserExportLine[]> {
  return Array.fromAsync(client.exportUser(options));
}

test('an id that another user has taken again: only the executions of the exported user are in the export, each of them', async () => {
  await using testbed = await Testbed.open();
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, userKey: 'a key' });
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([]) } });
  await testbed.stopWorkers();
  const [ada, eve] = [{ user: `ada-${randomUUID()}` }, { user: `eve-${randomUUID()}` }];
  const taken = `taken-${randomUUID()}`;
  const starts = [
    { input: 'the first question', principal: ada },
    { input: 'the second question', principal: ada, deps: { address: 'Elm Street' } },
    { input: 'a secret of Eve', principal: eve },
  ];
  for (const start of starts) {
    await client.start(clerk, { runId: taken, ifExists: 'restartFailed', ...start });
    await client.temporal.workflow.getHandle(taken).terminate('enough');
  }
  await until(async () => (await Array.fromAsync(client.list({ ...eve, status: 'error' }))).length === 1, 'the runs to be listed', 20);

  const lines = await linesOf(client, { ...ada, without: ['archive', 'memory', 'payloadStore'] });
  const text = JSON.stringify(lines);
  for (const part of ['the first question', 'the second question', 'Elm Street']) expect(text).toContain(part);
  expect(text).not.toContain('Eve');
  expect(lines.filter(({ type }) => type === 'run')).toMatchObject([
    { runId: taken, isNewest: false },
    { runId: taken, isNewest: true },
  ]);
  expect(lines.filter(({ type }) => type === 'failure')).toMatchObject([{ code: 'run_terminated' }, { code: 'run_terminated' }]);
  expect(lines[0]).toMatchObject({ type: 'user', ...ada });
  expect(lines.at(-1)).toMatchObject({ type: 'end', runs: [taken], memoryEntries: 0, unread: 0 });
}, 120_000);

test('"longhaul export" of a user says what it could not read, and finishes the export when it can', async () => {
  await using testbed = await Testbed.open();
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-export-user-'));
  const [payloads, memory, folder] = ['payloads', 'memory.json', 'export'].map((name) => join(directory, name)) as [string, string, string];
  const payloadStore = fileStore({ directory: payloads });
  await testbed.work({ agents: [teller], providers: { telling }, payloadStore });
  const user = `ada-${randomUUID()}`;
  const own = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }).as({ tenant: 'acme', user });
  const [first, second] = [`a-${randomUUID()}`, `b-${randomUUID()}`];
  for (const runId of [first, second]) await own.run(teller, { runId, input: `Tell me, says ${user}` });
  for (const agent of ['clerk', 'friend']) {
    const namespace = memoryNamespace({ principal: { tenant: 'acme', user }, agent });
    await fileMemory({ file: memory }).remember({ namespace, key: 'size', value: `M, says the ${agent}` });
  }
  await until(async () => (await Array.fromAsync(own.list())).length === 2, 'the runs to be listed', 20);
  const cli = async (...args: string[]): Promise<CliOutcome> =>
    callCli(['export', '--tenant', 'acme', '--user', user, '--output', folder, '--address', testbed.address, ...args], {});
  const stores = ['--payload-store', payloads, '--memory', memory, '--without', 'archive'];
  const about = async (): Promise<unknown> => JSON.parse(await readFile(join(folder, 'export.json'), 'utf8'));

  // One result cannot be read.
  const [namespace] = await readdir(payloads);
  const [hidden] = (await readdir(join(payloads, String(namespace)))).toSorted();
  await rename(join(payloads, String(namespace), String(hidden)), join(directory, 'hidden'));
  const partial = await cli(...stores);
  expect(partial).toMatchObject({ exitCode: 10 });
  expect(partial.stderr).toContain(`Not read: a large result of run "${first}" (spilled_unavailable)`);
  expect(await about()).toMatchObject({ complete: true, runs: [first, second], unread: [{ part: 'spilled', runId: first }] });

  await rename(join(directory, 'hidden'), join(payloads, String(namespace), String(hidden)));
  const whole = await cli(...stores);
  expect(whole).toMatchObject({ exitCode: 0 });
  expect(whole.stdout).toContain('2 runs, 2 entries of memory; 1 of them was in the folder already');
  expect(await about()).toMatchObject({ complete: true, unread: [], memoryEntries: 2, live: [], incomplete: [] });
  const names = await readdir(folder, { recursive: true });
  expect(names.toSorted()).toEqual(['export.json', 'memory.jsonl', 'runs', ...names.filter((name) => name.startsWith('runs/'))].toSorted());
  const runs = await Promise.all(names.filter((name) => name.endsWith('.jsonl')).map((name) => readFile(join(folder, name), 'utf8')));
  expect(runs.join('')).toContain('a long tale a long tale');
  expect(runs.join('')).toContain('M, says the friend');

  // A folder of somebody else, and one with other things, stay as they are.
  const other = await callCli(
    ['export', '--user', 'eve', '--output', folder, '--without', 'archive,memory,payload-store', '--address', testbed.address],
    {},
  );
  expect(other).toMatchObject({ exitCode: 2 });
  expect(other.stderr).toContain('has the export of another user or namespace');
  await rm(join(folder, 'export.json'));
  await writeFile(join(folder, 'mine.txt'), 'mine');
  expect((await cli(...stores)).stderr).toContain('holds something else');
  await rm(directory, { recursive: true });
}, 120_000);
