import { NativeConnection } from '@temporalio/worker';
import { createWorker, prometheusMetrics, telemetry } from '../../../worker/index.ts';
import { readSetting, reply } from '../../processes/program.ts';
import { quietRuntime } from '../../processes/quiet-runtime.ts';
import { stormAgents, stormModel } from './storm-agents.ts';
import type { WorkerSetting } from './storm-testbed.ts';

/** A worker of the storm, in a separate process, so that it can be killed. */

const setting = readSetting<WorkerSetting>();
const { address, namespace, taskQueue, bundlePath, ledger, cached, eventsOfExecution, isPatient, collector } = setting;
if (collector !== undefined) process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector;
quietRuntime();
const worker = await createWorker({
  ...(collector === undefined ? {} : { telemetry: await telemetry({ meterProvider: prometheusMetrics() }) }),
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
reply({ type: 'ready' });
await worker.run();
