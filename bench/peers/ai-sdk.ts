import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { pageText, promptFor, TOOL_NAME } from '../script/scripted-run.ts';
import { serveSide } from '../sides/side-process.ts';

const TASK_QUEUE = 'bench-ai-sdk';

await serveSide(async ({ address, namespace, baseURL, resultChars }, clock) => {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('ai-sdk-workflow.ts', import.meta.url)),
    activities: { [TOOL_NAME]: async ({ page }: { page: number }) => pageText(page, resultChars) },
    plugins: [new AiSdkPlugin({ modelProvider: createOpenAICompatible({ name: 'fake', baseURL }) })],
    interceptors: { activity: [clock.interceptor] },
    shutdownGraceTime: 1_000,
  });
  const running = worker.run();
  return {
    run: async (runId, steps) => {
      await client.workflow.execute('aiSdkRun', { workflowId: runId, taskQueue: TASK_QUEUE, args: [promptFor(steps), steps] });
    },
    stop: async () => {
      worker.shutdown();
      await running;
    },
  };
});
