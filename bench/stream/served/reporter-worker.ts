import { NativeConnection } from '@temporalio/worker';
import { createWorker, openai, type StreamSink } from 'longhaul/worker';
import { quietRuntime } from '../../../test/processes/quiet-runtime.ts';
import type { WorkersSetting } from '../stream-workers.ts';
import { reporter } from './reporter.ts';

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
