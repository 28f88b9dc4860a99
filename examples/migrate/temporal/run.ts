// Runs both workflows once: node temporal/run.ts <address> <baseURL>. A person agrees as soon as the refund waits.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIProvider } from '@openai/agents-openai';
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import { Client, Connection } from '@temporalio/client';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

const [, , address = 'localhost:7233', baseURL = '', namespace = 'default'] = process.argv;
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });

const activities = {
  lookUpOrder: async ({ order }: { order: number }) => ({ order, status: 'returned', paid: 120 }),
  refund: async ({ order, amount }: { order: number; amount: number }) => `paid $${amount} for order ${order}`,
};
const openai = new OpenAIAgentsPlugin({
  modelProvider: new OpenAIProvider({ baseURL, apiKey: 'unused', useResponses: false }),
  modelParams: { startToCloseTimeout: '1 minute' },
});
const aiSdk = new AiSdkPlugin({ modelProvider: createOpenAICompatible({ name: 'openai', baseURL }) });

async function run(workflow: string, file: string, plugins: NonNullable<WorkerOptions['plugins']>): Promise<string> {
  const id = `${workflow}-${process.pid}`;
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address }),
    namespace,
    taskQueue: id,
    workflowsPath: fileURLToPath(new URL(file, import.meta.url)),
    activities,
    plugins,
    bundlerOptions: {
      // @openai/agents-core loads parts of itself with import(): as installed, its bundle throws as it loads.
      webpackConfigHook: (config) => ({ ...config, module: { ...config.module, parser: { javascript: { dynamicImportMode: 'eager' } } } }),
    },
  });
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  return worker.runUntil(async () => {
    const handle = await client.workflow.start(workflow, { workflowId: id, taskQueue: id, args: ['Order 42 came back'] });
    await handle.signal('decide', true);
    return handle.result() as Promise<string>;
  });
}

console.log(
  JSON.stringify({
    aiSdk: await run('deskWithAiSdk', 'ai-sdk-workflow.ts', [aiSdk]),
    openaiAgents: await run('deskWithOpenAIAgents', 'openai-agents-workflow.ts', [openai]),
  }),
);
process.exit(0);
