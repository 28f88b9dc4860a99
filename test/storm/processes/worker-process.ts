import { NativeConnection, Runtime, DefaultLogger } from '@temporalio/worker';
import { createWorker } from '../../../worker/index.ts';
import { stormAgents } from './storm-agents.ts';
import { stormModel } from './storm-model.ts';
import type { WorkerSetting } from './storm-worker.ts';

/** A worker of the storm, in a process of its own, so that it can be killed. It ends with its parent, however the parent ends. */

const setting = JSON.parse(process.argv[2] ?? '') as WorkerSetting;
const { address, namespace, taskQueue, bundlePath, ledger, cached, eventsOfExecution, isPatient } = setting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } }, shutdownSignals: [] });
process.on('SIGINT', () => undefined);
const worker = await createWorker({
  agents: stormAgents(ledger),
  providers: { storm: stormModel() },
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  // The death of a worker is noticed soon, and so is its absence from its own queue.
  ...(isPatient ? {} : { heartbeatEvery: 1_000 }),
  ...(eventsOfExecution === undefined ? {} : { continueAsNew: { events: eventsOfExecution } }),
  worker: {
    workflowBundle: { codePath: bundlePath },
    ...(isPatient ? {} : { stickyQueueScheduleToStartTimeout: 1_000 }),
    ...(cached === undefined ? {} : { maxCachedWorkflows: cached }),
  },
});
process.send?.('ready');
await worker.run();
