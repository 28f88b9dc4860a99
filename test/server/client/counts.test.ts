import { randomUUID } from 'node:crypto';
import { defineSearchAttributeKey } from '@temporalio/common';
import { expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../../src/core/protocol.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const STATUS = defineSearchAttributeKey(SEARCH_ATTRIBUTES.status, 'KEYWORD');

test('each run counts under one status, the same that a list shows, also if it published another and was then ended or has not closed', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  // A worker adds the search attributes to the namespace.
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  await testbed.stopWorkers();
  const runIdPrefix = `counted-${randomUUID()}`;
  // No worker is left: the runs do not change.
  const started = async (status?: string): Promise<string> => {
    const workflowId = `${runIdPrefix}-${status ?? 'none'}-${randomUUID()}`;
    await client.temporal.workflow.start('agentRun', {
      workflowId,
      taskQueue,
      args: [{ agent: 'assistant', input: 'Q' }],
      ...(status === undefined ? {} : { typedSearchAttributes: [{ key: STATUS, value: status }] }),
    });
    return workflowId;
  };
  const ended = await Promise.all(['completed', 'max_iterations_reached', 'limit_reached', 'pending_confirmation', undefined].map(started));
  await Promise.all(ended.map((id) => client.temporal.workflow.getHandle(id).terminate('by an operator')));
  await Promise.all(['completed', 'limit_reached', 'error', 'running', 'idle', 'paused', 'pending_confirmation', undefined].map(started));

  const listed = () => Array.fromAsync(client.list({ runIdPrefix }));
  await until(async () => (await listed()).filter(({ endTime }) => endTime !== null).length === 5, 'the ends are listed');
  await until(async () => (await listed()).length === 13, 'all runs are listed');
  expect(await client.counts('status', { runIdPrefix })).toEqual({
    by: 'status',
    counts: [
      { value: 'error', runs: 5 },
      { value: 'running', runs: 5 },
      { value: 'idle', runs: 1 },
      { value: 'paused', runs: 1 },
      { value: 'pending_confirmation', runs: 1 },
    ],
    total: 13,
  });
  for (const status of ['error', 'running', 'idle', 'completed'] as const) {
    const runs = await Array.fromAsync(client.list({ runIdPrefix, status }));
    expect(runs.map((run) => run.status)).toEqual(runs.map(() => status));
    expect(runs).toHaveLength({ error: 5, running: 5, idle: 1, completed: 0 }[status]);
  }
});

test('runs with a tag are counted without those whose tag only has the same letters', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('a'), say('b'), say('c')]) } });
  const tag = `acme${randomUUID().replaceAll('-', '')}`;
  for (const tags of [[tag], [tag, 'other'], [tag.toUpperCase()]]) await client.run(assistant, { input: 'Q', taskQueue, tags });
  await until(async () => (await Array.fromAsync(client.list({ tag }))).length === 2, 'the runs are listed');
  await until(async () => (await Array.fromAsync(client.list({ tag: tag.toUpperCase() }))).length === 1, 'the other run is listed');
  expect(await client.counts('status', { tag })).toEqual({ by: 'status', counts: [{ value: 'completed', runs: 2 }], total: 2 });
  expect(await client.counts('agent', { tag })).toEqual({ by: 'agent', counts: [{ value: 'assistant', runs: 2 }], total: 2 });
});

test('a run or a session with an id that the HTTP service reads as something else is refused before anything is sent', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  const refused = { code: 'invalid_input', message: expect.stringContaining('"/v1/runs/counts" is something else over HTTP') };
  await expect(client.start(assistant, { input: 'Q', taskQueue, runId: 'counts' })).rejects.toMatchObject(refused);
  expect(() => client.session(assistant, { id: 'counts', taskQueue })).toThrow(expect.objectContaining(refused));
  const announced = { code: 'invalid_input', message: expect.stringContaining('announce waits') };
  await expect(client.start(assistant, { input: 'Q', taskQueue, runId: 'longhaul-waits' })).rejects.toMatchObject(announced);
});
