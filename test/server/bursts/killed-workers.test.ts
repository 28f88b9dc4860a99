import { expect, inject, test } from 'vitest';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { killProcess, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const RUNS = 20;
const STEPS = 40;

test('killed workers repeat no more than the calls in flight, and no other key, and every run comes to its end', async () => {
  await using testbed = await Testbed.open();
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));
  const model = await startWorkingModel(pause, STEPS);
  const tools = await startToolServer(pause);
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
    TEST_HEARTBEAT_MS: '500',
    TEST_STICKY_MS: '500',
    TEST_BURST: JSON.stringify({ steps: 16, bytes: 32_000, seconds: 30 }),
  };
  let worker = await startWorkerProcess(environment);
  const runs = await Promise.all(
    Array.from({ length: RUNS }, () => testbed.client.start('worker_agent', { input: 'Work', taskQueue: testbed.taskQueue })),
  );
  const needed = RUNS * (STEPS + 1);
  const kills = [0.2, 0.5, 0.8];
  for (const part of kills) {
    await until(() => model.requests.length >= part * needed, 'the calls before the next kill', 120_000);
    await killProcess(worker);
    worker = await startWorkerProcess(environment);
  }
  for (const run of runs)
    expect(await run.result({ timeout: 120_000 })).toMatchObject({ status: 'completed', output: 'all done', stepsUsed: STEPS + 1 });
  const lost = await lostAttempts(testbed, runs);
  expect(lost).toBeGreaterThanOrEqual(kills.length);
  // Each of them may have lost the one call that its run had in flight.
  expect(model.requests.length).toBeLessThanOrEqual(needed + lost);
  expect(tools.calls.length).toBeLessThanOrEqual(RUNS * STEPS + lost);
  expect(new Set(tools.keys).size).toBe(RUNS * STEPS);
  for (const run of runs.slice(0, 2)) await expectSameFromHistory(testbed, run);
  await killProcess(worker);
  await model.close();
  await tools.close();
}, 400_000);

/** Returns the number of attempts at activities that ended without telling the server: their workers were killed, or seemed to be. */
async function lostAttempts(testbed: Testbed, runs: readonly { runId: string }[]): Promise<number> {
  const histories = await Promise.all(runs.map(({ runId }) => testbed.client.temporal.workflow.getHandle(runId).fetchHistory()));
  const attempts = histories.flatMap(({ events }) => (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.attempt ?? 1));
  return attempts.reduce((sum, attempt) => sum + attempt - 1, 0);
}
