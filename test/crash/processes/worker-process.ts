import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { flushCompileCache } from 'node:module';
import { createWorker } from '../../../worker/index.ts';
import { activityPoints } from '../points/activity-points.ts';
import type { FromWorker, ToWorker, WorkerSetting } from './crash-worker.ts';
import { CrashTrigger } from '../points/crash-trigger.ts';
import { Ledger } from './ledger.ts';
import { referenceAgent } from '../reference/reference-agent.ts';
import { referenceModel } from '../reference/reference-model.ts';

/** A worker of the crash matrix, in a process of its own. It ends with its parent, however the parent ends. */

const setting = JSON.parse(process.argv[2] ?? '') as WorkerSetting;
process.once('disconnect', () => process.exit());
// Ctrl-C in a terminal reaches this process too; the parent ends it.
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'OFF' } }, shutdownSignals: [] });
process.on('SIGINT', () => undefined);

const ledger = new Ledger(setting.ledger);
const trigger = new CrashTrigger((runId, point) => ledger.reached(runId, point));
const tell = (message: FromWorker): boolean | undefined => process.send?.(message);
process.on('message', ({ kill }: ToWorker) => {
  trigger.arm(kill);
  tell({ type: 'armed' });
});

const worker = await createWorker({
  agents: [referenceAgent(ledger, setting.onceTimeoutMs)],
  providers: { reference: referenceModel() },
  connection: await NativeConnection.connect({ address: setting.address }),
  namespace: setting.namespace,
  taskQueue: setting.taskQueue,
  heartbeatEvery: setting.heartbeatMs,
  continueAsNew: { events: setting.eventsOfExecution },
  notify: ({ runId, callId, digest }) => void tell({ type: 'waiting', runId, callId, digest }),
  authorize: ({ by }) => ({ as: by ?? 'nobody' }),
  worker: {
    workflowBundle: { codePath: setting.bundlePath },
    // A task for a dead worker waits this long on that worker's own queue.
    stickyQueueScheduleToStartTimeout: 500,
    workflowThreadPoolSize: 1,
    ...(setting.cached === undefined ? {} : { maxCachedWorkflows: setting.cached }),
    sinks: { crash: { reached: { fn: ({ workflowId }, point: string) => trigger.reached(workflowId, point), callDuringReplay: false } } },
    interceptors: { activity: [activityPoints((runId, point) => trigger.reached(runId, point))] },
  },
});
// Otherwise it is written at the end of a process, and this process will be killed.
flushCompileCache();
tell({ type: 'ready' });
await worker.run();
