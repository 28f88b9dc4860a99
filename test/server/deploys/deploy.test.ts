import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, inject, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import type { RecordedRequest } from '../../fakes/openai-server.ts';
import { killProcess, resultsIn, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** Number of runs that have a model call in flight when the deploy begins, and of runs that begin during it. */
const BEFORE = 6;
const DURING = 2;

const processes = new Set<ChildProcess>();
afterEach(async () => {
  await Promise.all([...processes].map(killProcess));
  processes.clear();
});

/** The parts that the workers of a deploy share: a model that counts its calls, a tool, and the environment of a process. */
interface DeployEnvironment extends AsyncDisposable {
  environment: Record<string, string>;
  /** Number of model calls, by run and by the number of tool results that the request held. */
  asked: Record<string, number[]>;
  /** Answers the second call of every run, which is in flight until then. */
  release(): void;
}

async function deployEnvironment(testbed: Testbed, graceMs: number): Promise<DeployEnvironment> {
  const asked: DeployEnvironment['asked'] = {};
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const model = await startWorkingModel(async (request) => {
    const results = resultsIn(request);
    const counts = (asked[runIn(request)] ??= [0, 0, 0, 0]);
    counts[results] = (counts[results] ?? 0) + 1;
    if (results === 1) await released;
  });
  const tools = await startToolServer(() => Promise.resolve());
  return {
    environment: {
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: testbed.address,
      TEST_TASK_QUEUE: testbed.taskQueue,
      TEST_MODEL_URL: model.url,
      TEST_TOOL_URL: tools.url,
      TEST_GRACE_MS: String(graceMs),
    },
    asked,
    release,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([model.close(), tools.close()]);
    },
  };
}

function runIn({ text }: RecordedRequest): string {
  return /Work as (run-\d+)!/.exec(text)?.[1] ?? 'none';
}

async function startWorker({ environment }: DeployEnvironment): Promise<ChildProcess> {
  const child = await startWorkerProcess(environment);
  processes.add(child);
  return child;
}

async function startRuns({ client, taskQueue }: Testbed, from: number, count: number): Promise<RunHandle<unknown>[]> {
  const names = Array.from({ length: count }, (_, index) => `run-${from + index}`);
  return Promise.all(names.map(async (name) => client.start('worker_agent', { input: `Work as ${name}!`, taskQueue })));
}

/**
 * Waits until this many runs have a model call in flight. If the server hands out a task just when the worker shuts down, the task is lost,
 * and handed out again after ten seconds.
 */
async function untilHeld({ asked }: DeployEnvironment, runs: number): Promise<void> {
  const held = (): number => Object.values(asked).filter(([, second = 0]) => second > 0).length;
  await until(() => held() === runs, `${runs} model calls in flight`, 40);
}

/** Waits for all runs, and returns how each ended. */
async function endings(runs: RunHandle<unknown>[]): Promise<string[]> {
  const results = await Promise.all(runs.map(async (run) => run.result({ timeout: 40_000 })));
  return results.map(({ status, stepsUsed }) => `${status} after ${stepsUsed} steps`);
}

/** Gives every run the same value. */
function each<Value>(count: number, value: Value): Record<string, Value> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`run-${index}`, value]));
}

test('during a deploy, calls in flight end on the old worker, later calls go to the new one, and no call is made twice', async () => {
  await using testbed = await Testbed.open();
  await using shared = await deployEnvironment(testbed, 20_000);
  const old = await startWorker(shared);
  const runs = await startRuns(testbed, 0, BEFORE);
  await untilHeld(shared, BEFORE);

  await startWorker(shared);
  old.kill('SIGTERM');
  runs.push(...(await startRuns(testbed, BEFORE, DURING)));
  await untilHeld(shared, BEFORE + DURING);
  expect(old.exitCode).toBeNull();
  shared.release();
  await once(old, 'exit');
  expect(old.exitCode).toBe(0);

  expect(await endings(runs)).toEqual(runs.map(() => 'completed after 4 steps'));
  expect(shared.asked).toEqual(each(BEFORE + DURING, [1, 1, 1, 1]));
}, 90_000);

test('a model call that outlasts the grace time is made again by the new worker, and no other call is', async () => {
  await using testbed = await Testbed.open();
  await using shared = await deployEnvironment(testbed, 300);
  const old = await startWorker(shared);
  const runs = await startRuns(testbed, 0, BEFORE);
  await untilHeld(shared, BEFORE);

  await startWorker(shared);
  old.kill('SIGTERM');
  await once(old, 'exit');
  expect(old.exitCode).toBe(0);
  await until(() => Object.values(shared.asked).every(([, second]) => second === 2), 'the calls to be asked again');
  shared.release();

  expect(await endings(runs)).toEqual(runs.map(() => 'completed after 4 steps'));
  expect(shared.asked).toEqual(each(BEFORE, [1, 2, 1, 1]));
}, 90_000);
