import { setTracingDisabled } from '@openai/agents-core';
import { OpenAIProvider } from '@openai/agents-openai';
import { Client, Connection } from '@temporalio/client';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { pageText, promptFor, TOOL_NAME } from '../script/scripted-run.ts';
import { serveSide } from '../sides/side-process.ts';

const TASK_QUEUE = 'bench-openai-agents';

await serveSide(async ({ address, namespace, baseURL, resultChars }, clock) => {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
  setTracingDisabled(true);
  const plugin = new OpenAIAgentsPlugin({
    modelProvider: new OpenAIProvider({ baseURL, apiKey: 'unused', useResponses: false }),
    modelParams: { startToCloseTimeout: '1 minute' },
  });
  const client = new Client({ connection: await Connection.connect({ address }), namespace, plugins: [plugin] });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('openai-agents-workflow.ts', import.meta.url)),
    activities: { [TOOL_NAME]: async ({ page }: { page: number }) => pageText(page, resultChars) },
    plugins: [plugin],
    bundlerOptions: {
      // The agents package loads parts of itself with import(), and webpack would emit a browser's chunk loading for it:
      // the bundle then throws as it loads, and ends the process.
      webpackConfigHook: (config) => ({ ...config, module: { ...config.module, parser: { javascript: { dynamicImportMode: 'eager' } } } }),
    },
    interceptors: { activity: [clock.interceptor] },
    shutdownGraceTime: 1_000,
  });
  const running = worker.run();
  return {
    run: async (runId, steps) => {
      await client.workflow.execute('openaiAgentsRun', { workflowId: runId, taskQueue: TASK_QUEUE, args: [promptFor(steps), steps] });
    },
    stop: async () => {
      worker.shutdown();
      await running;
    },
  };
});
