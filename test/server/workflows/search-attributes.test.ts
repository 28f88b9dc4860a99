import { Connection } from '@temporalio/client';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { RunStatus } from '../../../src/core/domain/run.ts';
import { callTool, failWith, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { ensureSearchAttributes } from '../../../worker/plugin.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const ALL = { agentAndStatus: true, waitingFor: true, tag: true, started: true };

test('a worker registers the search attributes, and runs are found by agent and status', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('done')]) } });
  const { runId } = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const listed = async (): Promise<unknown[]> => {
    const found = [];
    for await (const run of testbed.client.list({ agent: 'assistant', status: 'completed', query: `TaskQueue = '${testbed.taskQueue}'` }))
      found.push(run);
    return found;
  };
  // The visibility store is written a moment after the history.
  await until(async () => (await listed()).length > 0, 'the run to be listed');
  expect(await listed()).toMatchObject([{ runId, agentName: 'assistant', status: 'completed' }]);
  const none = [];
  for await (const run of testbed.client.list({ agent: "it's nobody" })) none.push(run);
  expect(none).toEqual([]);
});

test('a run is listed under its status, even if it was ended from outside', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([failWith('model_forbidden', 'no'), hang(), hang(), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const start = async (name: string): Promise<string> => {
    const called = scripted.requests.length;
    const { runId } = await testbed.client.start(assistant, {
      input: 'Q',
      taskQueue: testbed.taskQueue,
      runId: `${testbed.taskQueue}-${name}`,
    });
    await until(() => scripted.requests.length > called, 'the model call');
    return runId;
  };
  const failed = await start('failed');
  const cancelled = await start('cancelled');
  await testbed.client.handle(cancelled).cancel('enough');
  const terminated = await start('terminated');
  await testbed.client.temporal.workflow.getHandle(terminated).terminate();
  const running = await start('running');

  const listed = async (status: RunStatus): Promise<string[]> => {
    const runs: string[] = [];
    for await (const run of testbed.client.list({ status, query: `TaskQueue = '${testbed.taskQueue}'` })) runs.push(run.runId);
    return runs.toSorted();
  };
  await until(async () => (await listed('error')).length === 2 && (await listed('cancelled')).length === 1, 'the ended runs to be listed');
  expect(await listed('error')).toEqual([failed, terminated].toSorted());
  expect(await listed('cancelled')).toEqual([cancelled]);
  expect(await listed('running')).toEqual([running]);
  await testbed.client.handle(running).cancel('done');
  await testbed.client.handle(running).result();
});

test('if search attributes cannot be registered, runs work without them, with one warning that gives the command', async () => {
  const namespace = await namespaceWithoutThem();
  await using testbed = await Testbed.open(namespace);
  const warnings: string[] = [];
  const has = await ensureSearchAttributes(connectionOf(testbed), namespace, (line) => warnings.push(line));
  expect(has).toEqual({ agentAndStatus: false, waitingFor: true, tag: true, started: true });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`temporal operator search-attribute create --namespace ${namespace} --name LonghaulAgent --type Keyword`);

  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([callTool('search', { query: 'a' }), say('done')]) } });
  const { runId, status } = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(status).toBe('completed');
  const upserts = (await historyOf(testbed, runId)).filter((event) => event.upsertWorkflowSearchAttributesEventAttributes);
  expect(upserts).toEqual([]);

  // A run that closed as Completed may have reached a limit: without the attributes, the list does not claim success.
  const listed = async () => Array.fromAsync(testbed.client.list());
  await until(async () => (await listed()).some((run) => run.endTime !== null), 'the run to be listed as closed');
  expect(await listed()).toMatchObject([{ runId, status: undefined }]);
});

test('if the operator service refuses workers, existing attributes are found by a search', async () => {
  await using testbed = await Testbed.open();
  const connection = connectionOf(testbed);
  const namespace = testbed.client.temporal.options.namespace;
  expect(await ensureSearchAttributes(connection, namespace, () => undefined)).toEqual(ALL);
  const closed = () => Promise.reject(new Error('PERMISSION_DENIED'));
  const denied = (workflowService: Connection['workflowService']) => ({
    operatorService: { listSearchAttributes: closed, addSearchAttributes: closed } as unknown as Connection['operatorService'],
    workflowService,
  });
  const warnings: string[] = [];
  expect(await ensureSearchAttributes(denied(connection.workflowService), namespace, (line) => warnings.push(line))).toEqual(ALL);
  expect(warnings).toEqual([]);
  const without = await namespaceWithoutThem();
  const has = await ensureSearchAttributes(denied(connection.workflowService), without, (line) => warnings.push(line));
  expect(has).toEqual({ agentAndStatus: false, waitingFor: false, tag: false, started: false });
  expect(warnings[0]).toContain('PERMISSION_DENIED');
});

test('a namespace with the attributes for agent and status alone works with these two', async () => {
  const namespace = await namespaceWithoutThem('LonghaulWaitingFor');
  await using testbed = await Testbed.open(namespace);
  const connection = connectionOf(testbed);
  const warnings: string[] = [];
  const has = await ensureSearchAttributes(connection, namespace, (line) => warnings.push(line));
  expect(has).toEqual({ agentAndStatus: true, waitingFor: false, tag: true, started: true });
  expect(warnings).toEqual([expect.stringMatching(/what they wait for: .* --name LonghaulWaitingFor --type KeywordList$/)]);

  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('done')]) } });
  const { runId } = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const { typedSearchAttributes } = await testbed.client.temporal.workflow.getHandle(runId).describe();
  const own = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
  expect(Object.fromEntries(own)).toMatchObject({ LonghaulAgent: 'assistant', LonghaulStatus: 'completed' });
});

function connectionOf(testbed: Testbed): Connection {
  const { connection } = testbed.client.temporal;
  if (connection instanceof Connection) return connection;
  throw new Error('the client has its own connection');
}

/** A namespace where one of the names has another type: the server then reports success and adds nothing. */
async function namespaceWithoutThem(taken = 'LonghaulAgent'): Promise<string> {
  await using testbed = await Testbed.open();
  const { workflowService, operatorService } = connectionOf(testbed);
  const namespace = `test-${randomUUID()}`;
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: msNumberToTs(86_400_000) });
  const TEXT = 1;
  // The services of the server see a new namespace a moment later.
  await until(async () => {
    const adding = operatorService.addSearchAttributes({ namespace, searchAttributes: { [taken]: TEXT } });
    return adding.then(
      () => true,
      () => false,
    );
  }, 'the namespace to be known');
  return namespace;
}
