import type { CreateWorkerOptions } from '../../worker/index.ts';

/** One way to tune a worker that otherwise has the defaults. */
export interface TuningOption {
  /** The name in the table. */
  name: string;
  worker?: NonNullable<CreateWorkerOptions['worker']>;
  /** Runs are started through the worker's own connection, and the answer may include the first task. */
  eagerStart?: true;
}

const autoscaling = { type: 'autoscaling' } as const;

/** The options that `tuning` measures: every option of a Temporal worker that could lower latency or raise throughput. */
export const TUNING_OPTIONS: readonly TuningOption[] = [
  { name: 'nothing (the noise)' },
  { name: 'maxConcurrentActivityTaskExecutions: 100', worker: { maxConcurrentActivityTaskExecutions: 100 } },
  { name: 'maxConcurrentLocalActivityExecutions: 100', worker: { maxConcurrentLocalActivityExecutions: 100 } },
  { name: 'maxConcurrentWorkflowTaskExecutions: 40', worker: { maxConcurrentWorkflowTaskExecutions: 40 } },
  { name: '2 pollers each', worker: { maxConcurrentWorkflowTaskPolls: 2, maxConcurrentActivityTaskPolls: 2 } },
  { name: '40 pollers each', worker: { maxConcurrentWorkflowTaskPolls: 40, maxConcurrentActivityTaskPolls: 40 } },
  { name: 'pollers: autoscaling', worker: { workflowTaskPollerBehavior: autoscaling, activityTaskPollerBehavior: autoscaling } },
  { name: 'maxCachedWorkflows: 20', worker: { maxCachedWorkflows: 20 } },
  { name: 'maxEagerActivityReservationsPerWorkflowTask: 0', worker: { maxEagerActivityReservationsPerWorkflowTask: 0 } },
  { name: 'maxEagerActivityReservationsPerWorkflowTask: 20', worker: { maxEagerActivityReservationsPerWorkflowTask: 20 } },
  { name: 'reuseV8Context: false', worker: { reuseV8Context: false } },
  { name: 'workflowThreadPoolSize: 2', worker: { workflowThreadPoolSize: 2 } },
  { name: 'stickyQueueScheduleToStartTimeout: 1s', worker: { stickyQueueScheduleToStartTimeout: '1s' } },
  {
    name: 'tuner: resource-based, 80 % memory, 90 % CPU',
    worker: { tuner: { tunerOptions: { targetMemoryUsage: 0.8, targetCpuUsage: 0.9 } } },
  },
  { name: 'eager start of runs', eagerStart: true },
];
