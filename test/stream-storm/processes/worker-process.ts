import { NativeConnection } from '@temporalio/worker';
import { createWorker, redisStreams } from '../../../worker/index.ts';
import { readSetting, reply } from '../../processes/program.ts';
import { quietRuntime } from '../../processes/quiet-runtime.ts';
import { drafts, teller, streamingModel } from './streaming-agents.ts';
import type { WorkerReply, WorkerSetting } from './storm-testbed.ts';

/** A worker of the storm, in a separate process, so that it can be killed. */

const { address, namespace, taskQueue, bundlePath, redisUrl } = readSetting<WorkerSetting>();
quietRuntime();
const worker = await createWorker({
  agents: [teller],
  programs: [drafts],
  providers: { storm: streamingModel() },
  streams: redisStreams({ url: redisUrl }),
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  // The death of a worker is noticed soon, and so is its absence from its own queue.
  heartbeatEvery: 1_000,
  continueAsNew: { events: 40 },
  notify: ({ runId, callId, digest }) => reply<WorkerReply>({ type: 'waiting', runId, callId, digest }),
  worker: { workflowBundle: { codePath: bundlePath }, stickyQueueScheduleToStartTimeout: 500, workflowThreadPoolSize: 1 },
});
reply<WorkerReply>({ type: 'ready' });
await worker.run();
