// A worker in a separate process, so that a test can kill it. Its model and its tool's effect are HTTP servers of the test.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { z } from 'zod';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { createWorker, prometheusMetrics, telemetry } from '../../../worker/index.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const {
  TEST_BUNDLE = '',
  TEST_ADDRESS = '',
  TEST_TASK_QUEUE = '',
  TEST_MODEL_URL = '',
  TEST_TOOL_URL = '',
  TEST_TOOL_TIER = 'remote',
  TEST_TOOL_APPROVAL = '',
  TEST_HEARTBEAT_MS = '1500',
  TEST_GRACE_MS = '20000',
  TEST_STICKY_MS = '1000',
  OTEL_EXPORTER_OTLP_ENDPOINT = '',
  TEST_BURST = '',
} = process.env;

const work = (category?: 'read') =>
  defineTool({
    name: 'work',
    description: 'Does a piece of work',
    parameters: z.object({ n: z.number() }),
    tier: TEST_TOOL_TIER === 'local' ? 'local' : 'remote',
    ...(category === undefined ? {} : { category }),
    ...(TEST_TOOL_APPROVAL === 'always' ? { approval: 'always' } : {}),
    execute: async ({ n }, { signal, idempotencyKey }) => {
      const headers = { 'idempotency-key': idempotencyKey };
      const response = await fetch(`${TEST_TOOL_URL}/work/${n}`, { method: 'POST', headers, signal });
      return response.text();
    },
  });

/** Its calls run in separate activities or, with `TEST_BURST`, in bursts. */
const agent = defineAgent({
  name: 'worker_agent',
  model: 'fake/model-1',
  instructions: 'Work.',
  tools: [work()],
  limits: { steps: 100 },
  ...(TEST_BURST === '' ? {} : { burst: JSON.parse(TEST_BURST) as { steps: number } }),
});

/** The same with a tool that only reads. */
const reading = { ...agent, name: 'reading_agent', tools: [work('read')] };

const worker = await createWorker({
  ...(OTEL_EXPORTER_OTLP_ENDPOINT === '' ? {} : { telemetry: await telemetry({ meterProvider: prometheusMetrics() }) }),
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [agent, reading],
  providers: { fake: openai({ baseURL: TEST_MODEL_URL, apiKey: 'test', api: 'chat' }) },
  heartbeatEvery: Number(TEST_HEARTBEAT_MS),
  shutdownGrace: Number(TEST_GRACE_MS),
  // A workflow task for a dead worker waits this long on that worker's own queue.
  worker: { stickyQueueScheduleToStartTimeout: Number(TEST_STICKY_MS), workflowBundle: { codePath: TEST_BUNDLE } },
});
process.stdout.write('ready\n');
await worker.run();
process.exit(0);
