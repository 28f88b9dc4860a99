import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerInterceptors } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableTestOptions } from '../durable-test-options.ts';
import type { Harness } from '../harness/harness.ts';
import { harnessActivities } from '../harness/harness-activity.ts';
import type { WorkerParts } from '../harness/worker-parts.ts';
import type { DurableWorkersOptions } from './durable-workers.ts';
import { workflowBundle } from './workflow-bundle.ts';

/** The server, task queue and parts of a test's worker. */
export interface TestWorkerSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  parts: WorkerParts;
  options: Pick<DurableTestOptions, 'heartbeatEvery' | 'worker'>;
}

/** The time between two heartbeats if a test loses calls: a call is lost after three missed ones. */
const HEARTBEAT_EVERY = '1s';

/** The time that a workflow task waits on the own queue of a killed worker, in milliseconds. */
const STICKY_MS = 500;

const GRACE_MS = 500;

/** Returns the options of a test's workers. */
export async function workerOptions(harness: Harness, { options, parts, ...target }: TestWorkerSettings): Promise<DurableWorkersOptions> {
  const { plan } = harness;
  const hasWorkerFaults = plan.of('kill_worker').length + plan.of('disconnect').length > 0;
  const losesCompletions = hasWorkerFaults || plan.of('drop_completion').length > 0;
  const heartbeatEvery = options.heartbeatEvery ?? (losesCompletions ? HEARTBEAT_EVERY : undefined);
  const { interceptors, ...worker } = options.worker ?? {};
  return {
    hasWorkerFaults,
    worker: {
      ...parts,
      ...target,
      // A worker that keeps no conversation asks the run for it before each model call.
      ...(plan.of('slow_queries').length > 0 ? { transcriptCacheSize: 1 } : {}),
      // A process that dies grants no time for shutdown.
      shutdownGrace: hasWorkerFaults ? 0 : GRACE_MS,
      ...(heartbeatEvery === undefined ? {} : { heartbeatEvery }),
      worker: {
        ...(hasWorkerFaults ? { stickyQueueScheduleToStartTimeout: STICKY_MS } : {}),
        ...(worker.workflowBundle === undefined ? { workflowBundle: await workflowBundle() } : {}),
        ...worker,
        interceptors: {
          ...interceptors,
          activity: [harnessActivities(harness), ...(interceptors?.activity ?? [])],
          ...slowQueries(harness, interceptors?.client),
        },
      },
    },
  };
}

/** Returns the interceptors of the client with which activities query their run. */
function slowQueries({ plan }: Harness, own: WorkerInterceptors['client'] = {}): Pick<WorkerInterceptors, 'client'> {
  const faults = plan.of('slow_queries');
  if (faults.length === 0) return { client: own };
  const slow: WorkflowClientInterceptor = {
    query: async (input, next) => {
      for (const fault of faults) {
        plan.happened(fault);
        await sleep(fault.ms);
      }
      return next(input);
    },
  };
  const workflow = Array.isArray(own.workflow) ? own.workflow : [];
  return { client: { ...own, workflow: [...workflow, slow] } };
}
