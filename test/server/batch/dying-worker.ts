// A worker with batches in a separate process, which kills itself once, at one point during a call.
import { existsSync, writeFileSync } from 'node:fs';
import { AsyncCompletionClient, WorkflowClient } from '@temporalio/client';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { defineAgent, defineHook, defineTool } from '../../../src/index.ts';
import { type BatchClient, type BatchResult, createWorker, openai } from '../../../worker/index.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const {
  TEST_BUNDLE = '',
  TEST_ADDRESS = '',
  TEST_TASK_QUEUE = '',
  TEST_API_URL = '',
  TEST_POINT = '',
  TEST_MARK = '',
  TEST_WINDOW_MS = '1500',
} = process.env;

const reached = new Map<string, number>();

/** Kills the process at the point, when it is reached for the n-th time: once for all processes. */
function pass(point: string): void {
  const count = (reached.get(point) ?? 0) + 1;
  reached.set(point, count);
  if (TEST_POINT !== `${point} ${count}` || existsSync(TEST_MARK)) return;
  writeFileSync(TEST_MARK, '');
  process.kill(process.pid, 'SIGKILL');
}

const { signalWithStart } = WorkflowClient.prototype;
WorkflowClient.prototype.signalWithStart = async function (this: WorkflowClient, ...args: never[]) {
  pass('before registration');
  const handle: unknown = await Reflect.apply(signalWithStart, this, args);
  pass('after registration');
  return handle as never;
};
const { complete } = AsyncCompletionClient.prototype;
AsyncCompletionClient.prototype.complete = async function (this: AsyncCompletionClient, ...args: unknown[]) {
  pass('before completion');
  await Reflect.apply(complete, this, args);
  pass('after completion');
};

const provider = openai({ baseURL: TEST_API_URL, apiKey: 'key', api: 'chat' });
const { batches } = provider;
if (batches === undefined) throw new TypeError('no batches');

const client: BatchClient = {
  limits: batches.limits,
  submit: async (batch, context) => {
    pass('before submission');
    const items = async (): ReturnType<typeof batch.items> => {
      const made = await batch.items();
      pass('requests made');
      return made;
    };
    const id = await batches.submit({ ...batch, items }, context);
    pass('after submission');
    return id;
  },
  status: async (id, context) => {
    pass('before poll');
    const status = await batches.status(id, context);
    pass(status.hasEnded ? 'end seen' : 'poll');
    return status;
  },
  results: async function* (id, context): AsyncGenerator<BatchResult> {
    pass('before results');
    for await (const result of batches.results(id, context)) {
      pass('result');
      yield result;
    }
    pass('after results');
  },
  cancel: (id, context) => batches.cancel(id, context),
};

const look = defineTool({
  name: 'look',
  description: 'Looks',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
});
const atRequest = defineHook({ name: 'at_request', on: 'pre_request', run: () => pass('request') });
const atAnswer = defineHook({ name: 'at_answer', on: 'post_response', run: () => pass('answer') });
const clerk = defineAgent({ name: 'clerk', model: 'openai/gpt-4.1', tools: [look], hooks: [atRequest, atAnswer] });

const worker = await createWorker({
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [clerk],
  providers: { openai: provider },
  batch: { openai: { window: Number(TEST_WINDOW_MS), client } },
  heartbeatEvery: 500,
  shutdownGrace: 500,
  worker: { stickyQueueScheduleToStartTimeout: 1_000, workflowBundle: { codePath: TEST_BUNDLE } },
});
process.stdout.write('ready\n');
await worker.run();
process.exit(0);
