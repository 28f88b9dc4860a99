import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { inMemory } from '../../../../src/memory/file-memory.ts';
import { memoryNamespace } from '../../../../src/memory/memory-store.ts';
import type { PayloadStore } from '../../../../src/stores/payload-store.ts';
import { scriptedModel } from '../../../../src/testing/index.ts';
import { callCli } from '../../../cli/call-cli.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });

/** A payload store that only records which runs are deleted. */
function notingStore(): PayloadStore & { deleted: Set<string> } {
  const deleted = new Set<string>();
  const refuse = (): Promise<never> => Promise.reject(new Error('not used'));
  return {
    deleted,
    name: 'noting',
    type: 'noting',
    store: refuse,
    retrieve: refuse,
    deleteRun: async ({ runId }) => void deleted.add(runId),
  };
}

test('an id that another user has taken again: only the executions of the forgotten user are removed, and no content', async () => {
  await using testbed = await Testbed.open();
  const payloadStore = notingStore();
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, payloadStore });
  // A worker registers the search attributes; no worker runs afterwards, so that Eve's run stays open.
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([]) } });
  await testbed.stopWorkers();
  const [ada, eve] = [{ user: `ada-${randomUUID()}` }, { user: `eve-${randomUUID()}` }];
  const [taken, own] = [`taken-${randomUUID()}`, `own-${randomUUID()}`];
  for (const runId of [taken, own]) await client.start(clerk, { runId, input: 'Q', principal: ada });
  await client.temporal.workflow.getHandle(taken).terminate();
  await client.start(clerk, { runId: taken, input: 'Q', principal: eve, ifExists: 'restartFailed' });
  await until(async () => (await Array.fromAsync(client.list(ada))).length === 2, 'the runs to be listed', 20);
  const forgotten = await client.forget({ ...ada, without: ['archive', 'memory', 'streams'], grace: '1s' });
  expect(forgotten).toEqual({
    runs: [own, taken].toSorted(),
    executions: 2,
    memoryEntries: 0,
    kept: [taken],
    without: ['archive', 'memory', 'streams'],
  });
  expect([...payloadStore.deleted]).toEqual([own]);
  expect((await client.temporal.workflow.getHandle(taken).describe()).status.name).toBe('RUNNING');
  const executions = await Array.fromAsync(client.temporal.workflow.list({ query: `WorkflowId = "${taken}"` }));
  expect(executions).toHaveLength(1);
  await client.temporal.workflow.getHandle(taken).terminate();
}, 300_000);

test('a user without any found run is reported with the reasons, and the runs of a hashed user are found with the key', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([]) } });
  await testbed.stopWorkers();
  const notices: string[] = [];
  const options = { taskQueue: testbed.taskQueue, memory: inMemory(), onNotice: (line: string) => void notices.push(line) };
  const [plain, hashing] = [undefined, 'a key'].map(
    (userKey) => new LonghaulClient(testbed.client.temporal, { ...options, ...(userKey === undefined ? {} : { userKey }) }),
  ) as [LonghaulClient, LonghaulClient];
  const user = `ada-${randomUUID()}`;
  const without = ['archive', 'payloadStore', 'streams'] as const;
  await options.memory.remember({ namespace: memoryNamespace({ principal: { user }, agent: 'clerk' }), key: 'k', value: 1 });
  const runs = [
    await hashing.start(clerk, { input: 'Q', principal: { user } }),
    await plain.start(clerk, { input: 'Q', principal: { user } }),
  ];
  await until(async () => (await Array.fromAsync(plain.list({ user }))).length === 1, 'the run to be listed', 20);
  await until(async () => (await Array.fromAsync(hashing.list({ user }))).length === 1, 'the hashed run to be listed', 20);
  const ids = runs.map(({ runId }) => runId).toSorted();

  expect(await plain.forget({ user, tenant: 'acme', without })).toMatchObject({ runs: [], memoryEntries: 0 });
  expect(notices).toEqual([expect.stringContaining(`No run of user "${user}" of tenant "acme" was found`)]);
  expect(notices[0]).toMatch(/hashed users: .*LONGHAUL_USER_KEY/);
  const cli = (...args: string[]): ReturnType<typeof callCli> =>
    callCli(['forget', '--user', user, ...args, '--address', testbed.address], { env: { LONGHAUL_USER_KEY: 'a key' } });
  expect(await cli('--without', 'memory, archive,streams')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(
      /2 runs that the server lists[^]*named: none[^]*no worker has: archive, memory, streams[^]*not named: payload-store[^]*"--without payload-store"[^]*--yes/,
    ) as string,
  });
  // With the key, also runs that were started without it.
  expect(await hashing.forget({ user, without, grace: 100 })).toMatchObject({ runs: ids, executions: 2, memoryEntries: 1 });
  expect(notices).toHaveLength(1);
  expect(await cli('--without', 'memory,archive,payload-store,streams', '--yes')).toEqual({
    exitCode: 0,
    stdout: `No run of user "${user}" without a tenant was found: nothing is removed\n`,
    stderr: expect.stringContaining('another user key') as string,
  });
}, 300_000);
