import { once } from 'node:events';
import { expect, inject, test } from 'vitest';
import { killProcess, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('after SIGTERM the call in flight finishes, no new task is taken, and another worker continues without repeating a call', async () => {
  await using testbed = await Testbed.open();
  let asked = 0;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const model = await startWorkingModel(async () => {
    asked += 1;
    if (asked === 2) await held;
  });
  const tools = await startToolServer(() => Promise.resolve());
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
  };
  const first = await startWorkerProcess(environment);
  const handle = await testbed.client.start('worker_agent', { input: 'Work!', taskQueue: testbed.taskQueue });
  await until(() => asked === 2, 'the second model call');

  first.kill('SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(first.exitCode).toBeNull();
  const second = await startWorkerProcess(environment);
  release();
  await once(first, 'exit');
  expect(first.exitCode).toBe(0);

  expect(await handle.result({ timeout: 30_000 })).toMatchObject({ status: 'completed', stepsUsed: 4 });
  expect(asked).toBe(4);
  await killProcess(second);
  await Promise.all([model.close(), tools.close()]);
}, 60_000);
