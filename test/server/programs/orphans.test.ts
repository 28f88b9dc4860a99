import { expect, test } from 'vitest';
import { AGENT_RUN, PROGRAM_RUN } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel, structured } from '../../../src/testing/index.ts';
import { HeldArchive } from '../archive/held-archive.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';
import { begun, busy, expectSameReadBack, letters, retried, waitingBelow } from './programs-with-children.ts';

test('a program that was terminated and is started again under its id replaces the child that still runs', async () => {
  await using testbed = await Testbed.open();
  const child = scriptedModel([callTool('guarded', { id: '7' }), callTool('guarded', { id: '8' }), structured({ letter: 'Dear Ben' })]);
  await testbed.work({ agents: [], programs: [retried], providers: { child } });
  const first = await begun(testbed, retried);
  const { runId } = first;
  const old = await waitingBelow(first);
  const below = testbed.client.temporal.workflow.getHandle(old.runId ?? '');
  const { runId: oldExecution } = await below.describe();
  await testbed.client.temporal.workflow.getHandle(runId).terminate('operator');
  const again = await testbed.client.startProgram(retried, { taskQueue: testbed.taskQueue, runId, ifExists: 'restartFailed' });
  await until(async () => (await below.describe()).runId !== oldExecution, 'the new child', 40);
  expect((await testbed.client.temporal.workflow.getHandle(old.runId ?? '', oldExecution).describe()).status.name).toBe('CANCELLED');
  const waiting = await waitingBelow(again);
  expect(waiting.digest).not.toBe(old.digest);
  await again.approve(waiting);
  const result = await again.result();
  expect(result).toMatchObject({ status: 'completed', output: { letter: 'Dear Ben' }, toolCallsTotal: 1 });
  expect(result.units[0]?.steps[0]).toMatchObject({ attempts: 1 });
  await expectSameReadBack(testbed, again);
}, 60_000);

test('a program that is started again under its id takes no result of a child of the run before', async () => {
  await using testbed = await Testbed.open();
  const child = scriptedModel([say('{"letter": "first"}'), say('{"letter": "second"}')]);
  await testbed.work({ agents: [], programs: [retried], providers: { child } });
  const handle = await begun(testbed, retried);
  expect(await handle.result()).toMatchObject({ output: { letter: 'first' } });
  const { taskQueue } = testbed;
  await testbed.client.temporal.workflow.start(PROGRAM_RUN, { workflowId: handle.runId, taskQueue, args: [{ program: 'retried' }] });
  expect(await handle.result()).toMatchObject({ output: { letter: 'second' } });
}, 60_000);

test('a run of another caller that has the id of a child is left alone, and the program can be cancelled meanwhile', async () => {
  await using testbed = await Testbed.open();
  const child = letters();
  await testbed.work({ agents: [], programs: [retried], providers: { child } });
  const runId = `taken-${testbed.taskQueue}`;
  const other = await testbed.client.temporal.workflow.start(AGENT_RUN, {
    workflowId: `${runId}/all.Letter`,
    taskQueue: testbed.taskQueue,
    args: [{ agent: 'careful', input: 'Mine' }],
  });
  await until(async () => (await testbed.client.handle(other.workflowId).status()).status === 'pending_confirmation', 'the other run', 40);
  const handle = await testbed.client.startProgram(retried, { taskQueue: testbed.taskQueue, runId });
  const wasRefused = async (): Promise<boolean> =>
    (await historyOf(testbed, runId)).some(
      ({ startChildWorkflowExecutionFailedEventAttributes }) => startChildWorkflowExecutionFailedEventAttributes,
    );
  await until(wasRefused, 'the refusal of the start', 40);
  await handle.cancel('enough');
  expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  expect(await executionStatus(testbed, other.workflowId)).toBe('RUNNING');
  await other.cancel();
}, 60_000);

test('a program that is cancelled while it continues as new counts what its child has used', async () => {
  await using testbed = await Testbed.open();
  const parent = scriptedModel([say('yes')], { repeatLast: true });
  const runIds: string[] = [];
  const archive = new HeldArchive(({ run }) => runIds.includes(run.runId));
  await testbed.work({ agents: [], programs: [busy], providers: { child: letters(), parent }, continueAsNew: { events: 40 }, archive });
  const handle = await begun(testbed, busy);
  runIds.push(handle.runId);
  await archive.meanwhile(async () => {
    await until(async () => (await executionStatus(testbed, `${handle.runId}/all.Letter`)) === 'RUNNING', 'the child', 40);
    await handle.cancel('enough');
  });
  const result = await handle.result();
  expect(result.status).toBe('cancelled');
  expect(await executionStatus(testbed, `${handle.runId}/all.Letter`)).toBe('CANCELLED');
  const below = await testbed.client.handle(`${handle.runId}/all.Letter`).result();
  expect(below.usage.llmCalls).toBe(1);
  expect(result.usage.llmCalls).toBe(parent.requests.length + 1);
  await expectSameReadBack(testbed, handle);
}, 60_000);
