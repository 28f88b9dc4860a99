import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { AGENT_RUN } from '../../../src/core/protocol.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/domain/json.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { plainPayload, RawCaller } from '../limits/raw-payloads.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const SCRIPT = [callTool('search', { query: 'one' }, 'c1'), callTool('search', { query: 'two' }, 'c2'), say('done')];

/** A run that has continued as new after every step, with the id and the carried state of its newest execution. */
async function continuedRun(testbed: Testbed): Promise<{ runId: string; executionId: string; continuedState: JsonObject }> {
  await testbed.work({
    agents: [assistant],
    providers: { scripted: scriptedModel([...SCRIPT, say('done again')]) },
    continueAsNew: { events: 8 },
  });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  const { runId: executionId } = await testbed.client.temporal.workflow.getHandle(run.runId).describe();
  const [payload] = (await historyOf(testbed, run))[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const { continuedState } = defaultPayloadConverter.fromPayload<{ continuedState: JsonObject }>(payload ?? {});
  return { runId: run.runId, executionId, continuedState };
}

test('a start with a carried state that the caller has forged is refused at once, and runs nothing', async () => {
  await using testbed = await Testbed.open();
  const { continuedState } = await continuedRun(testbed);
  const raw = new RawCaller(testbed, testbed.client);
  const inbox = isJsonObject(continuedState['inbox']) ? continuedState['inbox'] : {};
  const snapshot = isJsonObject(continuedState['snapshot']) ? continuedState['snapshot'] : {};
  const forged = [
    continuedState,
    { ...continuedState, inbox: { ...inbox, paused: true } },
    { ...continuedState, snapshot: { ...snapshot, timing: { heartbeatMs: -1, modelTimeoutMs: 1e300, modelMaxAttempts: 0.5 } } },
  ];
  for (const one of forged) {
    const runId = await raw.start({ input: [plainPayload({ continuedState: one })] });
    const run = testbed.client.handle(runId);
    expect(await run.result()).toMatchObject({
      status: 'error',
      errorCode: 'invalid_input',
      error: expect.stringContaining(
        'The run cannot continue: only an execution that continues as new may pass "continuedState"',
      ) as string,
    });
    expect(await run.steps()).toMatchObject([]);
    const types = (await historyOf(testbed, runId)).map(({ eventType }) => eventType);
    // The start, one workflow task scheduled, started and completed, and the end.
    expect(types).toHaveLength(5);
  }
});

/** The failure that closed an execution, and the next execution. */
interface Closing {
  failure: string;
  next: string;
}

/** Waits until an execution has closed, and another one follows it by a cron schedule or a retry policy. */
async function closingOf(testbed: Testbed, workflowId: string, executionId: string): Promise<Closing> {
  const handle = testbed.client.temporal.workflow.getHandle(workflowId, executionId);
  let closing: Closing | undefined;
  await until(async () => {
    const last = (await handle.fetchHistory()).events?.at(-1);
    const { failure, newExecutionRunId: next } =
      last?.workflowExecutionContinuedAsNewEventAttributes ?? last?.workflowExecutionFailedEventAttributes ?? {};
    const timedOut = last?.workflowExecutionTimedOutEventAttributes?.newExecutionRunId;
    if (next) closing = { failure: failure?.message ?? '', next };
    else if (timedOut) closing = { failure: 'timed out', next: timedOut };
    return closing !== undefined;
  }, 'the next execution');
  return closing ?? { failure: '', next: '' };
}

describe('a carried state is refused, although the execution follows another one,', () => {
  test('in the next run of a cron schedule', async () => {
    await using testbed = await Testbed.open();
    const { continuedState } = await continuedRun(testbed);
    const { workflow } = testbed.client.temporal;
    const workflowId = `cron-${testbed.taskQueue}`;
    const { firstExecutionRunId } = await workflow.start(AGENT_RUN, {
      workflowId,
      taskQueue: testbed.taskQueue,
      args: [{ continuedState }],
      cronSchedule: '@every 1s',
    });
    const first = await closingOf(testbed, workflowId, firstExecutionRunId);
    expect(first.failure).toContain('this is a first execution: start it with');
    const second = await closingOf(testbed, workflowId, first.next);
    expect(second.failure).toContain('this one was started by a cron schedule: start it with');
    await workflow.getHandle(workflowId).terminate('the test has ended');
  });

  test('in a further attempt of a retry policy', async () => {
    await using testbed = await Testbed.open();
    const { continuedState } = await continuedRun(testbed);
    await testbed.stopWorkers();
    const { workflow } = testbed.client.temporal;
    const workflowId = `retry-${testbed.taskQueue}`;
    const { firstExecutionRunId } = await workflow.start(AGENT_RUN, {
      workflowId,
      taskQueue: testbed.taskQueue,
      args: [{ continuedState }],
      workflowRunTimeout: '2s',
      retry: { initialInterval: '100ms', backoffCoefficient: 1 },
    });
    expect(await closingOf(testbed, workflowId, firstExecutionRunId)).toMatchObject({ failure: 'timed out' });
    await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
    await expect(workflow.result(workflowId)).rejects.toMatchObject({
      cause: {
        type: 'invalid_input',
        message: expect.stringMatching(/this one is attempt \d+ of a retry policy: start it with/) as string,
      },
    });
  });
});

test('a workflow cannot give a carried state to a run that it starts as a child', async () => {
  await using testbed = await Testbed.open();
  const { continuedState } = await continuedRun(testbed);
  const host = { workflowId: `host-${testbed.taskQueue}`, taskQueue: testbed.taskQueue, args: [continuedState] };
  expect(await testbed.client.temporal.workflow.execute('childrenThatCarry', host)).toEqual(['invalid_input', 'invalid_input']);
});

test('a run that a cron schedule has started continues as new', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(SCRIPT) }, continueAsNew: { events: 8 } });
  const { workflow } = testbed.client.temporal;
  const workflowId = `cron-${testbed.taskQueue}`;
  const args = [{ agent: 'assistant', input: 'Q' }];
  await workflow.start(AGENT_RUN, { workflowId, taskQueue: testbed.taskQueue, args, cronSchedule: '@every 1s' });
  expect(await workflow.result(workflowId)).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 3 });
});

test('if a workflow passes a forged carried state to a run inside it, the run fails with the reason', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const raw = new RawCaller(testbed, testbed.client);
  for (const first of [
    { version: 1, runId: 7 },
    { version: 1, runId: 'x/researcher' },
  ]) {
    const workflowId = await raw.start({ input: [plainPayload({ first, second: 'done' })], workflowType: 'inlineReport' });
    await expect(testbed.client.temporal.workflow.getHandle(workflowId).result()).rejects.toMatchObject({
      cause: { type: 'invalid_input', message: expect.stringContaining('The run cannot continue') as string },
    });
  }
});

test('an execution that a run has continued in can be reset, and continues from its carried state', async () => {
  await using testbed = await Testbed.open();
  const { runId, executionId } = await continuedRun(testbed);
  const { workflowService, options } = testbed.client.temporal;
  const firstTask = (await historyOf(testbed, runId)).find((event) => event.workflowTaskCompletedEventAttributes);
  const { runId: resetId } = await workflowService.resetWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId: runId, runId: executionId },
    reason: 'again',
    requestId: executionId,
    workflowTaskFinishEventId: firstTask?.eventId ?? null,
  });
  await until(
    async () => (await testbed.client.temporal.workflow.getHandle(runId, resetId ?? '').describe()).status.name === 'COMPLETED',
    'the reset execution ends',
  );
  expect(await testbed.client.handle(runId).result()).toMatchObject({ status: 'completed', output: 'done again' });
});

test('a deadline of ten thousand years is accepted, and fails no workflow task', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([callTool('refund', { amount: 5 }, 'c1'), say('done')]) } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue, limits: { deadline: 315_576_000_000_000 } });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
  await run.approve('c1');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  expect((await historyOf(testbed, run)).filter((event) => event.workflowTaskFailedEventAttributes)).toEqual([]);
});
