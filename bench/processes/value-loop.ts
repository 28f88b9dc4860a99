import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import OpenAI from 'openai';
import { fileURLToPath } from 'node:url';
import { promptFor } from '../script/scripted-run.ts';
import { serveSide } from '../sides/side-process.ts';
import { valueActivities } from '../loop/activities.ts';
import { VALUE_LOOP } from '../loop/protocol.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

const TASK_QUEUE = 'bench-value-loop';

await serveSide(async ({ address, namespace, baseURL, resultChars }, clock) => {
  quietRuntime();
  const openai = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0 });
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('../loop/value-workflow.ts', import.meta.url)),
    activities: valueActivities(openai, 'pages', resultChars),
    interceptors: { activity: [clock.interceptor] },
    shutdownGraceTime: 1_000,
  });
  const running = worker.run();
  return {
    run: async (runId, steps) => {
      await client.workflow.execute(VALUE_LOOP, { workflowId: runId, taskQueue: TASK_QUEUE, args: [promptFor(steps)] });
    },
    stop: async () => {
      worker.shutdown();
      await running;
    },
  };
});
