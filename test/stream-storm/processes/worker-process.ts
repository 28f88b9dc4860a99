import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { createWorker, redisStreams } from '../../../worker/index.ts';
import { drafts, teller } from './streaming-agents.ts';
import { streamingModel } from './streaming-model.ts';
import type { Waiting, WorkerSetting } from './settings.ts';

/** A worker of the storm, in a process of its own, so that it can be killed. It ends with its parent, however the parent ends. */

const { address, namespace, taskQueue, bundlePath, redisUrl } = JSON.parse(process.argv[2] ?? '') as WorkerSetting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } }, shutdownSignals: [] });
process.on('SIGINT', () => undefined);
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
  notify: ({ runId, callId, digest }) => void process.send?.({ runId, callId, digest } satisfies Waiting),
  worker: { workflowBundle: { codePath: bundlePath }, stickyQueueScheduleToStartTimeout: 500, workflowThreadPoolSize: 1 },
});
process.send?.('ready');
await worker.run();
