import type { ChildProcess } from 'node:child_process';
import { afterEach, expect, inject, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import type { ApprovalView } from '../../../src/core/domain/approvals.ts';
import { ASK_AGAIN, QUERIES, SIGNALS } from '../../../src/core/protocol.ts';
import { Replayer } from '../../../worker/index.ts';
import { killProcess, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

/** Milliseconds after which the server takes a task or a query from the queue of a dead worker; the same time for both. */
const STICKY_MS = 3_000;

const children = new Set<ChildProcess>();
afterEach(async () => {
  await Promise.all([...children].map(killProcess));
  children.clear();
});

/** A run that waits for approval of its first call, with its worker. */
interface WaitingRun {
  run: RunHandle<unknown>;
  /** Waits for the next pending call, and returns it. */
  waiting(): Promise<ApprovalView>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Starts another worker, and kills the worker that has loaded the run. */
  replaceWorker(): Promise<void>;
}

test.each([
  ['an Update', async (run: RunHandle<unknown>) => void (await run.send('late', { id: 'm1', timeout: 20_000 }))],
  [
    'a Signal',
    (run: RunHandle<unknown>, testbed: Testbed) => signal(testbed, run, SIGNALS.send, { id: 'm1', content: 'late', mode: 'queue' }),
  ],
])(
  'a query that is answered late, with new events before it and %s after it, leaves the run unchanged',
  async (_, tell) => {
    await using testbed = await Testbed.open();
    const { run, waiting, kill, replaceWorker } = await startWaitingRun(testbed, STICKY_MS);
    const { callId, digest } = await waiting();
    await replaceWorker();
    const killedAt = Date.now();
    // The query goes to the queue of the dead worker, and to another worker after the server has given up that queue.
    const answer = rawStatus(testbed, run);
    await pauseUntil(killedAt + STICKY_MS * 0.75);
    await signal(testbed, run, SIGNALS.approve, { callId, digest, id: 'd1' });
    // The other worker loads the run with new events whose workflow task still waits for the dead worker.
    expect(await answer).toMatch(ASK_AGAIN);
    await tell(run, testbed);

    for (const id of ['d2', 'd3']) await run.approve((await waiting()).callId, { id });
    expect(await run.result({ timeout: 30_000 })).toMatchObject({ status: 'completed', output: 'all done' });
    const live = await Array.fromAsync(run.events());
    await kill();
    const history = await historyOf(testbed, run);
    expect(history.flatMap(({ workflowTaskFailedEventAttributes: failed }) => failed?.failure?.message ?? [])).toEqual([]);
    const replayer = new Replayer({ worker: { workflowBundle: { codePath: inject('workflowBundlePath') } } });
    expect(await replayer.replay(run.runId, history)).toEqual({ type: 'ok' });
    await replayer.close();
    // A replay of the history gives the record that the run had.
    expect(await Array.fromAsync(run.events())).toEqual(live);
  },
  60_000,
);

test('a worker answers queries of a run that has ended', async () => {
  await using testbed = await Testbed.open();
  const { run, waiting } = await startWaitingRun(testbed);
  await waiting();
  await run.cancel('enough');
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  expect(JSON.parse(await rawStatus(testbed, run))).toMatchObject({ status: 'cancelled' });
});

test('queries of every kind are answered while no new event waits, each time that the run has to be loaded', async () => {
  await using testbed = await Testbed.open();
  const { run, waiting, replaceWorker } = await startWaitingRun(testbed);
  await waiting();
  await replaceWorker();
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  for (const name of [QUERIES.status, '__stack_trace', '__temporal_workflow_metadata']) await handle.query(name);
  expect((await run.approvals()).pending).toHaveLength(1);
  expect(await run.send('hello')).toMatchObject({ status: 'queued' });
  await handle.terminate();
}, 60_000);

test('a run that was terminated with unhandled events is read from its history', async () => {
  await using testbed = await Testbed.open();
  const { run, waiting, kill, start } = await startWaitingRun(testbed);
  const { callId, digest } = await waiting();
  await kill();
  await signal(testbed, run, SIGNALS.approve, { callId, digest, id: 'd1' });
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('ended by hand');
  await start();
  expect(await rawStatus(testbed, run)).toMatch('If it has ended, only its history shows them');
  expect(await run.status()).toMatchObject({ status: 'error' });
  expect((await Array.fromAsync(run.events())).map(({ author }) => author)).toEqual(['user', 'worker_agent']);
}, 60_000);

async function startWaitingRun(testbed: Testbed, stickyMs = 300): Promise<WaitingRun> {
  const model = await startWorkingModel(async () => undefined);
  const tools = await startToolServer(async () => undefined);
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = await startWorkerProcess({
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: testbed.address,
      TEST_TASK_QUEUE: testbed.taskQueue,
      TEST_MODEL_URL: model.url,
      TEST_TOOL_URL: tools.url,
      TEST_TOOL_APPROVAL: 'always',
      TEST_STICKY_MS: String(stickyMs),
    });
    children.add(child);
  };
  await start();
  const run = await testbed.client.start('worker_agent', { input: 'Work!', taskQueue: testbed.taskQueue });
  const seen = new Set<string>();
  const waiting = async (): Promise<ApprovalView> => {
    let pending: ApprovalView | undefined;
    await until(async () => {
      pending = (await run.approvals()).pending.find(({ callId }) => !seen.has(callId));
      return pending !== undefined;
    }, 'a call that waits');
    if (pending === undefined) throw new Error('nothing waits');
    seen.add(pending.callId);
    return pending;
  };
  const kill = async (): Promise<void> => {
    if (child !== undefined) await killProcess(child);
  };
  const replaceWorker = async (): Promise<void> => {
    const replaced = child;
    await start();
    if (replaced !== undefined) await killProcess(replaced);
  };
  return { run, waiting, kill, start, replaceWorker };
}

/** Queries like the Temporal UI: once, and the answer is shown unchanged. */
async function rawStatus(testbed: Testbed, run: RunHandle<unknown>): Promise<string> {
  const { temporal } = testbed.client;
  const ask = (): Promise<unknown> => temporal.workflow.getHandle(run.runId).query(QUERIES.status);
  return temporal.withDeadline(Date.now() + 20_000, ask).then(
    (status) => JSON.stringify(status),
    (error: Error) => error.message,
  );
}

async function signal(testbed: Testbed, run: RunHandle<unknown>, name: string, input: unknown): Promise<void> {
  await testbed.client.temporal.workflow.getHandle(run.runId).signal(name, input);
}

async function pauseUntil(time: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
}
