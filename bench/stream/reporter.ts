import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { tokenText } from './token.ts';
import { NativeConnection } from '@temporalio/worker';
import { createWorker, openai, type StreamSink } from 'longhaul/worker';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';
import type { WorkersSetting } from './stream-workers.ts';

const note = defineTool({
  name: 'note',
  description: 'Notes the time',
  parameters: z.object({}),
  execute: () => tokenText(0),
});
const ask = defineTool({
  name: 'ask',
  description: 'Waits for a decision',
  parameters: z.object({}),
  approval: 'always',
  execute: () => tokenText(0),
});

/** The agent of the runs that a service streams. Its model and its tools put the time of the answer into the answer. */
export const reporter = defineAgent({
  name: 'reporter',
  model: 'tokens/model',
  instructions: 'You report the time.',
  tools: [note, ask],
  limits: { steps: 10_000 },
});

/** Starts a worker of the built package in this process. Returns the function that drains it. */
export async function startReporter(
  { address, namespace, bundlePath, providerURL }: WorkersSetting,
  streams?: StreamSink,
): Promise<() => Promise<void>> {
  quietRuntime();
  const connection = await NativeConnection.connect({ address });
  const worker = await createWorker({
    agents: [reporter],
    providers: { tokens: openai({ baseURL: providerURL, apiKey: 'none' }) },
    connection,
    namespace,
    shutdownGrace: 1_000,
    worker: { workflowBundle: { codePath: bundlePath } },
    ...(streams === undefined ? {} : { streams }),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}
