import { NativeConnection } from '@temporalio/worker';
import { flushCompileCache } from 'node:module';
import { createWorker } from '../../../worker/index.ts';
import { readSetting, reply } from '../../processes/program.ts';
import { quietRuntime } from '../../processes/quiet-runtime.ts';
import { recoveringAgent, recoveringModel } from './recovering-agent.ts';

/** The settings of the process, passed as the JSON of its first argument. */
export interface RecoveringWorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
}

/** The message of the process: its worker works, and has this identity. */
export interface RecoveringWorkerReply {
  type: 'ready';
  identity: string | undefined;
}

/** A worker with the defaults of the product, in a separate process. */

const { address, namespace, taskQueue, bundlePath } = readSetting<RecoveringWorkerSetting>();
quietRuntime({ core: 'OFF' });
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
reply<RecoveringWorkerReply>({ type: 'ready', identity: worker.worker.options.identity });
await worker.run();
