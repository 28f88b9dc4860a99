import { expect, test } from 'vitest';
import { SIGNALS } from '../../../src/core/protocol.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';
import { begun, busy, expectSameReadBack, letters, outer, retried, waitingBelow } from './programs-with-children.ts';

/** The status of a run. */
const statusOf = async (testbed: Testbed, runId: string): Promise<string> => (await testbed.client.handle(runId).status()).status;

test('a pause reaches all descendants of a program, and so does the resumption', async () => {
  await using testbed = await Testbed.open();
  const child = letters();
  await testbed.work({ agents: [], programs: [outer], providers: { child, parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed, outer);
  const waiting = await waitingBelow(handle);
  const below = waiting.runId ?? '';
  await handle.pause();
  await handle.approve(waiting);
  await until(async () => (await statusOf(testbed, below)) === 'paused', 'the pause of the agent', 40);
  expect(await statusOf(testbed, `${handle.runId}/all.Inner`)).toBe('paused');
  expect(await statusOf(testbed, handle.runId)).toBe('paused');
  await handle.resume();
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'yes' });
  await expectSameReadBack(testbed, handle);
}, 60_000);

test('a child that a caller has paused stays paused, and a child that a caller resumes continues alone', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [outer], providers: { child: letters(), parent: scriptedModel([say('yes')]) } });
  const handle = await begun(testbed, outer);
  const waiting = await waitingBelow(handle);
  const below = testbed.client.handle(waiting.runId ?? '');
  await below.pause();
  await handle.pause();
  await handle.resume();
  await handle.approve(waiting);
  await until(async () => (await below.status()).status === 'paused', 'its own pause', 40);
  await handle.pause();
  await below.resume();
  expect(await below.result()).toMatchObject({ status: 'completed' });
  expect(await statusOf(testbed, handle.runId)).toBe('paused');
  await handle.resume();
  expect(await handle.result()).toMatchObject({ status: 'completed' });
}, 60_000);

/** True if the run has been notified that an ancestor is paused. */
async function isTold({ client }: Testbed, runId: string): Promise<boolean> {
  const { events = [] } = await client.temporal.workflow.getHandle(runId).fetchHistory();
  return (events ?? []).some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === SIGNALS.pausedByParent);
}

test('a program that has continued as new pauses and resumes a child of an earlier execution', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  await testbed.work({ agents: [], programs: [busy], providers: { child: letters(), parent }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, busy);
  const waiting = await waitingBelow(handle);
  await until(async () => (await handle.status()).executions > 1 && parent.requests.length === 8, 'the next execution', 40);
  await handle.pause();
  // A decision that reaches the child before the pause does would let it end.
  await until(() => isTold(testbed, waiting.runId ?? ''), 'the signal to the child', 40);
  await handle.approve(waiting);
  await until(async () => (await statusOf(testbed, waiting.runId ?? '')) === 'paused', 'the pause of the child', 40);
  await handle.resume();
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'yes' });
  await expectSameReadBack(testbed, handle);
}, 90_000);

test('a program that continues as new while it is paused resumes its child', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [retried], providers: { child: letters() }, continueAsNew: { events: 40 } });
  const handle = await begun(testbed, retried);
  const waiting = await waitingBelow(handle);
  // Each of them grows the history.
  for (let paused = 0; paused < 12; paused += 1) await handle.pause();
  await until(async () => (await handle.status()).executions > 1, 'the next execution', 40);
  await handle.approve(waiting);
  await until(async () => (await statusOf(testbed, waiting.runId ?? '')) === 'paused', 'the pause of the child', 40);
  await handle.resume();
  expect(await handle.result()).toMatchObject({ status: 'completed', output: { letter: 'Dear Ann' } });
  await expectSameReadBack(testbed, handle);
}, 90_000);

test('a child that is paused ends with its parent', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [], programs: [retried], providers: { child: letters() }, childCheckEvery: '2s' });
  const handle = await begun(testbed, retried);
  const waiting = await waitingBelow(handle);
  await handle.pause();
  await handle.approve(waiting);
  const below = waiting.runId ?? '';
  await until(async () => (await statusOf(testbed, below)) === 'paused', 'the pause of the child', 40);
  await testbed.client.temporal.workflow.getHandle(handle.runId).terminate('operator');
  await until(async () => (await executionStatus(testbed, below)) === 'CANCELLED', 'the end of the child', 40);
  const ended = await testbed.client.handle(below).result();
  expect(ended.cancelReason).toContain(`The run "${handle.runId}", which started this one, has ended`);
}, 60_000);
