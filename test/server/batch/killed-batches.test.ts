import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { completion, lastText, startBatchApi } from '../../fakes/batch-api.ts';
import { killProcess, startWorkerProcess } from '../testbed/other-processes.ts';
import { Testbed } from '../testbed/testbed.ts';

const RUNS = 60;

/** Where a worker, which also runs the collector, is killed: a point, and how often it must have been reached. */
const POINTS = [
  'before registration 1',
  'after registration 7',
  'before submission 1',
  'request 20',
  'requests made 1',
  'after submission 1',
  'before poll 1',
  'end seen 1',
  'before results 1',
  'result 30',
  'answer 10',
  'before completion 1',
  'after completion 30',
  'after results 1',
];

const SCRIPT = fileURLToPath(new URL('./dying-worker.ts', import.meta.url));

/** Keeps a worker running: a killed worker is replaced. */
class Workers {
  kills = 0;
  #child: ChildProcess | undefined;
  #isStopping = false;
  readonly #environment: Record<string, string>;

  constructor(environment: Record<string, string>) {
    this.#environment = environment;
  }

  async start(): Promise<void> {
    // A process that dies before it works never says that it is ready.
    const child = await startWorkerProcess(this.#environment, SCRIPT);
    this.#child = child;
    child.once('exit', () => {
      if (this.#isStopping) return;
      this.kills += 1;
      void this.start();
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#child !== undefined) await killProcess(this.#child);
  }
}

test.each(POINTS)(
  'a worker that is killed at "%s" loses no call, and pays none twice',
  async (point) => {
    await using testbed = await Testbed.open();
    const directory = await mkdtemp(join(tmpdir(), 'longhaul-batch-'));
    const mark = join(directory, 'killed');
    const api = await startBatchApi({
      delayMs: 500,
      answer: (line) =>
        lastText(line).startsWith('Q')
          ? completion('', [{ name: 'look', arguments: { at: lastText(line) } }])
          : completion(`found ${lastText(line)}`),
    });
    const workers = new Workers({
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: testbed.address,
      TEST_TASK_QUEUE: testbed.taskQueue,
      TEST_API_URL: api.url,
      TEST_POINT: point,
      TEST_MARK: mark,
    });
    try {
      await workers.start();
      const runs = await Promise.all(
        Array.from({ length: RUNS }, (_, index) =>
          testbed.client.start('clerk', { input: `Q${index}`, tier: 'batch', taskQueue: testbed.taskQueue }),
        ),
      );
      const results = await Promise.all(runs.map((run) => run.result()));
      expect(existsSync(mark)).toBe(true);
      expect(workers.kills).toBe(1);
      expect(results.map(({ output }) => output)).toEqual(results.map((_, index) => `found seen Q${index}`));
      expect(results.every(({ usage }) => usage.llmCalls === 2 && usage.totalTokens === 2_200)).toBe(true);
      expect(api.paid.size).toBe(2 * RUNS);
      expect([...api.paid.values()].filter((times) => times > 1)).toEqual([]);
      for (const run of runs) {
        const { events } = await run.context();
        expect(events.map(({ author, content }) => [author, content.map(({ type }) => type)])).toEqual([
          ['user', ['message']],
          ['clerk', ['tool_call']],
          ['clerk', ['tool_result']],
          ['clerk', ['message']],
        ]);
      }
    } finally {
      await workers.stop();
      await api.close();
      await rm(directory, { recursive: true });
    }
  },
  180_000,
);
