import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { NativeConnection } from '@temporalio/worker';
import type { StreamSink } from '../../src/client/index.ts';
import { openai } from '../../activities/models/openai/openai.ts';
import { createWorker } from '../../worker/index.ts';

const note = defineTool({ name: 'note', description: 'Notes something', parameters: z.object({}), execute: () => 'noted' });
const ask = defineTool({
  name: 'ask',
  description: 'Waits for a decision',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'decided',
});

/** The agent of all runs that stream. */
export const streamer = defineAgent({
  name: 'streamer',
  model: 'tokens/model',
  instructions: 'You count.',
  tools: [note, ask],
  limits: { steps: 10_000 },
});

/** The task queues of the workers with a sink and without one. Their names have the same length, because they are in histories. */
export const QUEUES = { with: 'streams-yes', without: 'streams-not' } as const;

/** The settings of the workers. */
export interface WorkersSetting {
  address: string;
  namespace: string;
  bundlePath: string;
  /** The `baseURL` of the provider. */
  providerURL: string;
}

/** Starts two workers in this process that differ in the sink alone. Returns the function that drains them. */
export async function startWorkers(
  { address, namespace, bundlePath, providerURL }: WorkersSetting,
  streams: StreamSink,
): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address });
  const make = (taskQueue: string, sink: { streams?: StreamSink }) =>
    createWorker({
      agents: [streamer],
      providers: { tokens: openai({ baseURL: providerURL, apiKey: 'none' }) },
      connection,
      namespace,
      taskQueue,
      shutdownGrace: 1_000,
      worker: { workflowBundle: { codePath: bundlePath } },
      ...sink,
    });
  const workers = [await make(QUEUES.with, { streams }), await make(QUEUES.without, {})];
  const running = workers.map((worker) => worker.run());
  return async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await connection.close();
  };
}
