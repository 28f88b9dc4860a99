import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const PROGRAM = fileURLToPath(new URL('logging-worker.ts', import.meta.url));
const KEY = 'k-4711-secret';

test('a worker logs the log lines and errors of its tools, each as a line of JSON, and no output of the bundler', async () => {
  await using testbed = await Testbed.open();
  const env = {
    ...process.env,
    TEST_ADDRESS: testbed.address,
    TEST_TASK_QUEUE: testbed.taskQueue,
    PAYMENT_KEY: KEY,
    LONGHAUL_LOG_FORMAT: 'json',
    // Colours are for terminals, even if the environment forces them.
    FORCE_COLOR: '1',
  };
  const worker = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  worker.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(worker, 'exit');
  try {
    await once(worker.stdout, 'data');
    const run = await testbed.client.start('payer', { input: 'Pay', taskQueue: testbed.taskQueue });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'It failed.' });

    // The Temporal UI shows the failure of the attempt before.
    const failures = (await historyOf(testbed, run)).flatMap(
      ({ activityTaskStartedEventAttributes: started }) => started?.lastFailure ?? [],
    );
    expect(failures).toMatchObject([{ message: 'no account', stackTrace: expect.stringContaining('logging-worker.ts:') }]);
  } finally {
    worker.kill('SIGTERM');
  }
  expect(await exited).toEqual([0, null]);

  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ level, message }) => `${String(level)} ${String(message)}`).toSorted()).toEqual([
    'ERROR A promise of "pay" was rejected and not handled: await it, or add a catch',
    'ERROR Tool "pay" threw',
    'INFO paying',
    'INFO paying',
    'WARN Activity failed',
  ]);
  for (const { error } of lines.filter(({ level }) => level !== 'INFO'))
    expect(error).toMatchObject({ stack: expect.stringContaining('logging-worker.ts:') });
  expect(stderr).not.toContain('\u001b');
  expect(stderr).not.toContain(KEY);
});
