import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import type { RunningCall } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';

const pay = callTool('refund', { amount: 5 }, 'c1');

/** The error of a chat that is down, with a short retry delay. */
const down = (): Error => Object.assign(new Error('the chat is down'), { retryAfterMs: 10 });

async function notifying(run: RunHandle<unknown>): Promise<RunningCall | undefined> {
  return (await run.status()).running?.find(({ name }) => name === 'notifyWaiting');
}

async function failedTwice(run: RunHandle<unknown>): Promise<void> {
  await until(async () => ((await notifying(run))?.attempt ?? 0) > 2, 'two failed attempts to tell', 30);
}

test('if the notify hook always fails, the run shows it, decisions are still accepted, and the run ends', async () => {
  await using testbed = await Testbed.open();
  const providers = { scripted: scriptedModel([pay, say('done')]) };
  await testbed.work({ agents: [clerk], providers, notify: () => Promise.reject(down()) });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await failedTwice(run);
  expect(await notifying(run)).toMatchObject({ lastFailure: 'the chat is down' });
  const shown = await callCli(['show', run.runId, '--address', testbed.address]);
  expect(shown.stdout).toMatch(
    /notifyWaiting … sends the notice of a pending decision \(attempt \d+\)\n.*the attempt before failed: the chat is down/,
  );
  expect(await run.approve('c1')).toMatchObject({ status: 'decided' });
  expect(await run.result()).toMatchObject({ status: 'completed', outputText: 'done' });
}, 60_000);

test('after three failed attempts, the notify hook is called again and succeeds', async () => {
  await using testbed = await Testbed.open();
  const asked: string[] = [];
  const told: string[] = [];
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([pay, say('done')]) },
    notify: ({ id }) => {
      if (asked.push(id) <= 3) throw down();
      told.push(id);
    },
  });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending[0]?.notified === true, 'the notify hook is called', 30);
  await run.approve('c1');
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(new Set(asked).size).toBe(1);
  expect(told).toHaveLength(1);
}, 60_000);

test('if the notify hook never answers, a cancelled run still ends, and the worker still drains', async () => {
  await using testbed = await Testbed.open();
  let asked = 0;
  const notify = (): Promise<void> => {
    asked += 1;
    return new Promise(() => undefined);
  };
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([pay, pay]) }, notify });
  const cancelled = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  const left = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(() => asked === 2, 'both notifications are in progress');
  await cancelled.cancel('enough');
  expect(await cancelled.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  expect(await executionStatus(testbed, cancelled.runId)).toBe('CANCELLED');
  await testbed.stopWorkers();
  expect(await executionStatus(testbed, left.runId)).toBe('RUNNING');
  await left.cancel('enough');
}, 60_000);

test('while the notify hook fails, a run keeps waiting in its next execution, where the notification starts again', async () => {
  await using testbed = await Testbed.open();
  const asked = new Set<string>();
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([pay, say('done')]) },
    continueAsNew: { updates: 3 },
    notify: ({ id }) => {
      asked.add(id);
      return Promise.reject(down());
    },
  });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await failedTwice(run);
  for (const id of ['m1', 'm2', 'm3', 'm4']) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'another execution');
  await failedTwice(run);
  expect(asked.size).toBe(1);
  await run.approve('c1');
  expect(await run.result()).toMatchObject({ status: 'completed' });
}, 60_000);

test('a notification that has failed for good is shown with the pending approval, and does not start again in the next execution', async () => {
  await using testbed = await Testbed.open();
  let asked = 0;
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([pay, say('done')]) },
    continueAsNew: { updates: 3 },
    notify: () => {
      asked += 1;
      throw ApplicationFailure.nonRetryable('no such channel');
    },
  });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending[0]?.notified === false, 'the end of the attempts');
  const lastError = '"notify" could not report that call "c1" of "refund" waits: no such channel';
  expect(await run.status()).toMatchObject({ status: 'pending_confirmation', lastError });
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  const { currentDetails } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  expect(currentDetails).toContain('- **No notice was sent**: `notify` has failed');
  expect(currentDetails).toContain(`**Last error**\n\n${lastError}`);
  const listed = await callCli(['approvals', run.runId, '--address', testbed.address]);
  expect(listed.stdout).toContain('not sent: "notify" failed');
  await expectSameFromHistory(testbed, run);
  for (const id of ['m1', 'm2', 'm3', 'm4']) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'another execution');
  expect((await run.approvals()).pending).toMatchObject([{ callId: 'c1', notified: false }]);
  await expectSameFromHistory(testbed, run);
  await run.approve('c1');
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(asked).toBe(1);
  const names = (await historyOf(testbed, run)).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
  expect(names).not.toContain('notifyWaiting');
}, 60_000);
