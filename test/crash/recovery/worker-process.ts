import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { flushCompileCache } from 'node:module';
import { createWorker } from '../../../worker/index.ts';
import { recoveringAgent, recoveringModel } from './recovering-agent.ts';

/** The settings of the process, passed as the JSON of its first argument. */
export interface RecoveringWorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
}

/** A worker with the defaults of the product, in a process of its own. Once it works it sends its identity. It ends with its parent. */

const { address, namespace, taskQueue, bundlePath } = JSON.parse(process.argv[2] ?? '') as RecoveringWorkerSetting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'OFF' } }, shutdownSignals: [] });
process.on('SIGINT', () => undefined);
const worker = await createWorker({
  agents: [recoveringAgent()],
  providers: { recovery: recoveringModel() },
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  worker: { workflowBundle: { codePath: bundlePath } },
});
// Otherwise it is written at the end of a process, and this process will be killed.
flushCompileCache();
process.send?.(worker.worker.options.identity);
await worker.run();
