import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/core/domain/json/json.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { plainPayload, RawCaller } from '../limits/raw-payloads.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const SCRIPT = [callTool('search', { query: 'one' }, 'c1'), callTool('search', { query: 'two' }, 'c2'), say('done')];

/** A run that has continued as new after every step, with the id and the carried state of its newest execution. */
async function continuedRun(testbed: Testbed): Promise<{ runId: string; executionId: string; carry: JsonObject }> {
  await testbed.work({
    agents: [assistant],
    providers: { scripted: scriptedModel([...SCRIPT, say('done again')]) },
    continueAsNew: { events: 8 },
  });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  const { runId: executionId } = await testbed.client.temporal.workflow.getHandle(run.runId).describe();
  const [payload] = (await historyOf(testbed, run))[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const { carry } = defaultPayloadConverter.fromPayload<{ carry: JsonObject }>(payload ?? {});
  return { runId: run.runId, executionId, carry };
}

test('a start with a carried state that the caller has forged is refused at once, and runs nothing', async () => {
  await using testbed = await Testbed.open();
  const { carry } = await continuedRun(testbed);
  const raw = new RawCaller(testbed, testbed.client);
  const inbox = isJsonObject(carry['inbox']) ? carry['inbox'] : {};
  const snapshot = isJsonObject(carry['snapshot']) ? carry['snapshot'] : {};
  const forged = [
    carry,
    { ...carry, inbox: { ...inbox, paused: true } },
    { ...carry, snapshot: { ...snapshot, timing: { heartbeatMs: -1, modelTimeoutMs: 1e300, modelMaxAttempts: 0.5 } } },
  ];
  for (const one of forged) {
    const runId = await raw.start({ input: [plainPayload({ carry: one })] });
    const run = testbed.client.handle(runId);
    expect(await run.result()).toMatchObject({
      status: 'error',
      errorCode: 'invalid_input',
      error: expect.stringContaining('The run cannot continue: only an execution that continues as new may pass "carry"') as string,
    });
    expect(await run.steps()).toMatchObject([]);
    const types = (await historyOf(testbed, runId)).map(({ eventType }) => eventType);
    // The start, one workflow task scheduled, started and completed, and the end.
    expect(types).toHaveLength(5);
  }
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

test('an execution that a run has continued in can be reset, and goes on from its carried state', async () => {
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
