import { expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { counted, old } from './releases.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

async function scheduled(testbed: Testbed, run: RunHandle<unknown>, name: string): Promise<number> {
  const events = await historyOf(testbed, run);
  return events.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === name).length;
}

test('all runs of a new agent complete while the old worker takes half of their tasks', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel([say('hello')], { repeatLast: true });
  await old(testbed, model);
  const fresh = defineAgent({ name: 'fresh', model: 'scripted/m' });
  await testbed.work({ agents: [fresh], providers: { scripted: model } });
  const runs = await Promise.all(
    Array.from({ length: 8 }, () => testbed.client.start(fresh, { input: 'Q', taskQueue: testbed.taskQueue })),
  );
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'completed'));
  const times = await Promise.all(runs.map((run) => scheduled(testbed, run, 'resolveAgent')));
  // Retries add no events, and the activity is rescheduled at most once. In only one of 256 cases, all eight runs reach the new worker
  // first.
  expect(Math.max(...times)).toBeLessThanOrEqual(2);
});

test('a caller that starts a run of a misspelt agent is told within seconds, and the run ends after the time limit', async () => {
  await using testbed = await Testbed.open();
  await old(testbed, scriptedModel([]), { missingTimeout: '6s' });
  let isOver = false;
  const ended = testbed.client.run('asistant', { input: 'Q', taskQueue: testbed.taskQueue }).finally(() => (isOver = true));
  await until(() => testbed.notices.length > 0, 'the client prints the notice');
  expect(isOver).toBe(false);
  expect(testbed.notices.join()).toMatch(/No worker has had agent "asistant" so far.*It has: "assistant"\. Did you mean "assistant"\?/);
  const result = await ended;
  expect(result).toMatchObject({ status: 'error', errorCode: 'unknown_agent', stepsUsed: 0 });
  expect(result.error).toContain('No agent "asistant" is registered in this worker. It has: "assistant".');
});

test('if no worker has a tool in time, the run ends, and the model is not told why', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel([callTool('tool_b', {}, 'c1'), say('Never said.')]);
  const providers = { scripted: model };
  await testbed.work({ agents: [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [counted().tool] })], providers });
  const run = await testbed.client.start('clerk', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
  await testbed.stopWorkers();
  await testbed.work({ agents: [defineAgent({ name: 'clerk', model: 'scripted/m' })], providers, missingTimeout: '1s' });
  await run.approve('c1');
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'error', errorCode: 'unknown_tool', stepsUsed: 1 });
  expect(result.error).toContain('No tool "tool_b" of agent "clerk" in this worker');
  expect(result.steps?.[0]?.toolCalls).toMatchObject([
    { isError: true, result: "Tool 'tool_b' is not executable: no worker has it at the moment." },
  ]);
  expect(model.requests).toHaveLength(1);
});
