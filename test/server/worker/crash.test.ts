import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import { killProcess, resultsIn, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** The moment when the worker is killed. Each request to the model or the tool asks before and after its answer. */
interface Crash {
  /** True: never answer this request, and kill the worker meanwhile. */
  duringModel?: (results: number) => boolean;
  duringTool?: (path: string) => boolean;
  /** True: answer, and kill the worker right after. */
  afterTool?: (path: string) => boolean;
}

interface Observed {
  result: unknown;
  events: unknown[];
  /** The number of requests for each answer of the model. */
  asked: number[];
  /** The body of the last request for each answer, byte for byte. */
  requests: string[];
}

let undisturbed: Observed;

beforeAll(async () => {
  undisturbed = await runWith({});
});

const children = new Set<ChildProcess>();
afterAll(async () => {
  await Promise.all([...children].map(killProcess));
});

test('without a crash, each answer of the model is requested once', () => {
  expect(undisturbed.asked).toEqual([1, 1, 1, 1]);
  expect(undisturbed.requests.map((text) => text.includes('"stream":true'))).toEqual([true, true, true, true]);
  expect(undisturbed.result).toMatchObject({ status: 'completed', output: 'all done', stepsUsed: 4 });
});

test('if a worker is killed during a model call, the run finishes the same, and only that answer is requested again', async () => {
  const { result, events, asked, requests } = await runWith({ duringModel: (results) => results === 1 });
  expect(result).toEqual(undisturbed.result);
  expect(events).toEqual(undisturbed.events);
  // A second process begins with a cold cache, and sends the same requests.
  expect(requests).toEqual(undisturbed.requests);
  expect(asked).toEqual([1, 2, 1, 1]);
}, 60_000);

test('if a worker is killed during a tool call, the run finishes the same, and no answer is requested twice', async () => {
  const { result, events, asked, requests } = await runWith({ duringTool: (path) => path === '/work/1' });
  expect(result).toEqual(undisturbed.result);
  expect(events).toEqual(undisturbed.events);
  // A second process begins with a cold cache, and sends the same requests.
  expect(requests).toEqual(undisturbed.requests);
  expect(asked).toEqual([1, 1, 1, 1]);
}, 60_000);

test('if a worker is killed between two steps, the run finishes the same, and at most the call in flight is requested again', async () => {
  const { result, events, asked, requests } = await runWith({ afterTool: (path) => path === '/work/1' });
  expect(result).toEqual(undisturbed.result);
  expect(events).toEqual(undisturbed.events);
  // A second process begins with a cold cache, and sends the same requests.
  expect(requests).toEqual(undisturbed.requests);
  expect([asked[0], asked[1], asked[3]]).toEqual([1, 1, 1]);
  expect(asked[2]).toBeLessThanOrEqual(2);
}, 60_000);

/** Runs the agent with one crash, after which a second worker continues. */
async function runWith(crash: Crash): Promise<Observed> {
  await using testbed = await Testbed.open();
  let crashed = false;
  let worker: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    crashed = true;
    if (worker !== undefined) await killProcess(worker);
  };
  const asked: number[] = [];
  const requests: string[] = [];
  const model = await startWorkingModel(async (request) => {
    const results = resultsIn(request);
    asked[results] = (asked[results] ?? 0) + 1;
    requests[results] = request.text;
    if (!crashed && crash.duringModel?.(results)) await kill();
  });
  const tools = await startToolServer(async (path) => {
    if (!crashed && crash.duringTool?.(path)) await kill();
    // The delay is short, but the answer reaches the worker first.
    if (!crashed && crash.afterTool?.(path)) setTimeout(() => void kill(), 3);
  });
  const start = async (): Promise<ChildProcess> => {
    const child = await startWorkerProcess({
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: testbed.address,
      TEST_TASK_QUEUE: testbed.taskQueue,
      TEST_MODEL_URL: model.url,
      TEST_TOOL_URL: tools.url,
    });
    children.add(child);
    return child;
  };
  worker = await start();
  const handle = await testbed.client.start('worker_agent', { input: 'Work!', taskQueue: testbed.taskQueue });
  if (Object.keys(crash).length > 0) {
    await until(() => worker?.signalCode === 'SIGKILL', 'the worker to be killed');
    worker = await start();
  }
  const result = await handle.result({ steps: true, timeout: 40_000 });
  const { events } = await handle.context();
  await killProcess(worker);
  await Promise.all([model.close(), tools.close()]);
  return {
    result: withoutIdsAndTimes(result),
    events: events.map(({ author, content, usage }: Event) => ({ author, content, usage })),
    asked,
    requests,
  };
}

function withoutIdsAndTimes(result: RunResult<unknown>): unknown {
  const { runId: _runId, startTime: _start, endTime: _end, durationSeconds: _seconds, steps, ...rest } = result.toJSON();
  return {
    ...rest,
    steps: steps?.map(({ toolCalls, ...step }) => ({
      ...step,
      toolCalls: toolCalls.map(({ durationMs: _ms, timestamp: _timestamp, ...call }) => call),
    })),
  };
}
