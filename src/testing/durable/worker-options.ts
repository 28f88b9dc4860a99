import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerInterceptors } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableTestOptions } from '../durable-test-options.ts';
import type { Harness } from '../harness/harness.ts';
import { harnessActivities } from '../harness/harness-activity.ts';
import type { WorkerParts } from '../harness/worker-parts.ts';
import type { DurableWorkersOptions } from './durable-workers.ts';
import { workflowBundle } from './workflow-bundle.ts';

/** Where a worker of a test polls, and what for. */
export interface WorkerPlace {
  address: string;
  namespace: string;
  taskQueue: string;
  parts: WorkerParts;
  options: Pick<DurableTestOptions, 'heartbeatEvery' | 'worker'>;
}

/** Between two heartbeats where a test means to lose some: three missed ones are waited for. */
const HEARTBEAT_EVERY = '1s';

/** A workflow task for a worker that is dead waits so long (milliseconds) on that worker's own queue. */
const STICKY_MS = 500;

const GRACE_MS = 500;

/** The options of the workers of a test. */
export async function workerOptions(stage: Harness, { options, parts, ...place }: WorkerPlace): Promise<DurableWorkersOptions> {
  const { plan } = stage;
  const isHarmed = plan.of('kill_worker').length + plan.of('disconnect').length > 0;
  const losesCompletions = isHarmed || plan.of('drop_completion').length > 0;
  const heartbeatEvery = options.heartbeatEvery ?? (losesCompletions ? HEARTBEAT_EVERY : undefined);
  const { interceptors, ...worker } = options.worker ?? {};
  return {
    isHarmed,
    worker: {
      ...parts,
      ...place,
      // A process that dies gives nobody any grace.
      shutdownGrace: isHarmed ? 0 : GRACE_MS,
      ...(heartbeatEvery === undefined ? {} : { heartbeatEvery }),
      worker: {
        ...(isHarmed ? { stickyQueueScheduleToStartTimeout: STICKY_MS } : {}),
        ...(worker.workflowBundle === undefined ? { workflowBundle: await workflowBundle() } : {}),
        ...worker,
        interceptors: {
          ...interceptors,
          activity: [harnessActivities(stage), ...(interceptors?.activity ?? [])],
          ...slowQueries(stage, interceptors?.client),
        },
      },
    },
  };
}

/** The client with which activities ask their run. */
function slowQueries({ plan }: Harness, given: WorkerInterceptors['client'] = {}): Pick<WorkerInterceptors, 'client'> {
  const faults = plan.of('slow_queries');
  if (faults.length === 0) return { client: given };
  const slow: WorkflowClientInterceptor = {
    query: async (input, next) => {
      for (const fault of faults) {
        plan.happened(fault);
        await sleep(fault.ms);
      }
      return next(input);
    },
  };
  const workflow = Array.isArray(given.workflow) ? given.workflow : [];
  return { client: { ...given, workflow: [...workflow, slow] } };
}
