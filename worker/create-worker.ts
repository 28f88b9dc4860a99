import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import type { ResourceHealth } from '../activities/resources/live-resource.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import type { ResourcesOfAgents, ResourcesOption } from '../src/define/options/needed-resources.ts';
import { nonEmpty, requireKnown } from '../src/define/options/option-checks.ts';
import { type Duration, timerMilliseconds } from '../src/core/domain/run/duration.ts';
import { LonghaulError, UsageError } from '../src/core/domain/errors/error.ts';
import { DEFAULT_TASK_QUEUE } from '../src/core/protocol.ts';
import { unreachable } from '../src/client/connect.ts';
import { resolveServer } from '../src/temporal/server-address.ts';
import type { LogOptions } from '../src/log/log-choice.ts';
import { streamsNotice } from '../src/streams/streams-notice.ts';
import { checkWorkerParts } from './check-worker-parts.ts';
import { installLog } from './install-log.ts';
import { LonghaulPlugin, PLUGIN_OPTIONS, type LonghaulPluginOptions } from './plugin.ts';
import { requireSupport } from './versioning.ts';
import { WorkflowTaskSlots } from './workflow-task-slots.ts';

/** Options of a worker: its agents, its connection, and the user's own workflows. */
export interface CreateWorkerOptions extends LonghaulPluginOptions, LogOptions {
  /** An existing connection. By default one is made from `address`, the environment and the CLI's profile. */
  connection?: NativeConnection;
  /** `host:port`. */
  address?: string;
  namespace?: string;
  /** Default `longhaul`. */
  taskQueue?: string;
  /** A module of your own workflows to run in the same worker. */
  workflowsPath?: string;
  /**
   * The time that calls in flight have to finish after a shutdown began (SIGTERM, or `shutdown()`), before another
   * worker takes them over. Default 5 minutes; 0 for none.
   */
  shutdownGrace?: Duration;
  /**
   * Options of the Temporal Worker, for tuning. By default it has slots for 500 activities, 500 local activities and
   * 200 workflow tasks, or half of `maxCachedWorkflows` if that is less; other defaults are the SDK's.
   */
  worker?: Omit<
    Partial<WorkerOptions>,
    'connection' | 'namespace' | 'taskQueue' | 'workflowsPath' | 'shutdownGraceTime' | 'shutdownForceTime'
  >;
}

/** The options that the plugin does not have, by name. The compiler reports one that is missing here. */
type OwnOption = Exclude<keyof CreateWorkerOptions, keyof LonghaulPluginOptions>;

const OWN_OPTIONS: Record<OwnOption, true> = {
  connection: true,
  address: true,
  namespace: true,
  taskQueue: true,
  workflowsPath: true,
  shutdownGrace: true,
  logLevel: true,
  logFormat: true,
  worker: true,
};

/** A worker that runs agents. */
export interface LonghaulWorker {
  readonly taskQueue: string;
  readonly namespace: string;
  /** The Temporal Worker underneath. */
  readonly worker: Worker;
  /** Polls until a shutdown, and resolves when all work has drained. SIGINT and SIGTERM begin a shutdown. */
  run(): Promise<void>;
  /** Begins a shutdown: accepts no new tasks, and lets calls in flight finish within the grace time. Idempotent. */
  shutdown(): void;
  /** Returns the health of the worker, for a readiness probe. */
  health(): Promise<WorkerHealth>;
}

/** The health of a worker. */
export interface WorkerHealth {
  /** True if it polls and none of its resources has failed. */
  readonly ready: boolean;
  /** The state of the Temporal Worker underneath, such as `RUNNING` or `DRAINING`. */
  readonly state: string;
  /** The resources made with `resource()`, by name. A request checks those whose last check is too old. */
  readonly resources: Readonly<Record<string, ResourceHealth>>;
}

/**
 * The default slots. Agents wait for models and tools and need little CPU, so a worker should not be limited by the
 * number of waiting calls. The SDK's defaults are 100, 100 and 40. A workflow task waits for its local activities.
 */
const MOST_CALLS = 500;
const MOST_WORKFLOW_TASKS = 200;
/** The default of the SDK: Longhaul has no Nexus operations. */
const MOST_NEXUS_TASKS = 100;
/** The SDK requires two: one of them for runs that are in the cache. */
const LEAST_WORKFLOW_TASKS = 2;
/** The time that a task waits in the queue of a worker that may be dead, in milliseconds. The SDK's default is twice as long. */
const STICKY_MS = 5_000;
/** The time that calls have to react after they are aborted at the end of the grace time. */
const FORCE_AFTER_GRACE_MS = 30_000;

/**
 * Creates a worker for agents. Throws a UsageError for unknown options, agents or tools that contradict each other,
 * an executor that does not isolate code on this machine, and versioning that the server does not support; `server_unreachable` with the address if no server answers;
 * `encryption_key_missing` if the active encryption key is not available; and `resource_unavailable` for a resource
 * that cannot be opened.
 */
export async function createWorker<const Agents extends readonly AnyAgent[]>(
  options: CreateWorkerOptions & { agents: Agents } & ResourcesOption<ResourcesOfAgents<Agents>>,
): Promise<LonghaulWorker> {
  const plugin = new LonghaulPlugin(checkedOptions(options));
  installLog(options);
  const { connection: server, namespace } = resolveServer(options);
  const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
  const connection = options.connection ?? (await connect(server));
  const end = async (): Promise<void> => {
    await plugin.closeResources();
    if (options.connection === undefined) await connection.close();
  };
  let worker: Worker;
  try {
    if (options.versioning !== undefined) await requireSupport(connection, options.versioning);
    // Before the Temporal Worker is created, which cannot be discarded without being run.
    await plugin.requireEncryptionKey();
    await plugin.checkExecutors();
    await plugin.openResources();
    const notice = options.streams === undefined ? undefined : streamsNotice(options.streams, 'worker');
    if (notice !== undefined) Runtime.instance().logger.info(notice);
    worker = await Worker.create(workerOptions(options, { connection, namespace, taskQueue, plugin }));
  } catch (error) {
    await end();
    throw error;
  }
  return {
    taskQueue,
    namespace,
    worker,
    run: async () => {
      try {
        await worker.run();
      } finally {
        await end();
      }
    },
    shutdown: () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
    health: () => healthOf(worker, plugin),
  };
}

/** Checks the options of a worker. Returns those of the plugin. */
function checkedOptions(options: CreateWorkerOptions): LonghaulPluginOptions {
  requireKnown('the worker', options, [...Object.keys(PLUGIN_OPTIONS), ...Object.keys(OWN_OPTIONS)]);
  checkWorkerParts('the worker', options);
  for (const name of ['address', 'namespace', 'taskQueue', 'workflowsPath'] as const) {
    if (options[name] !== undefined) nonEmpty(`the worker: "${name}"`, options[name]);
  }
  if (options.connection !== undefined && options.address !== undefined) {
    throw new UsageError('the worker has both "connection" and "address": leave one of them out');
  }
  const ofPlugin = Object.entries(options).filter(([name]) => Object.hasOwn(PLUGIN_OPTIONS, name));
  return { ...Object.fromEntries(ofPlugin), agents: options.agents, providers: options.providers };
}

async function healthOf(worker: Worker, plugin: LonghaulPlugin): Promise<WorkerHealth> {
  const resources = await plugin.resourceHealth();
  const state = worker.getState();
  const failed = Object.values(resources).some((one) => one.state === 'failed');
  return { ready: state === 'RUNNING' && !failed, state, resources };
}

/**
 * Returns the default slots for workflow tasks: no more than half of the cached runs. If every run in the cache has a task, the SDK cannot
 * evict any, and may lose a task that waits for a place (docs/upstream/lost-tasks-of-a-full-cache.md).
 */
function workflowTaskSlots({ maxCachedWorkflows }: Partial<WorkerOptions>): number {
  if (maxCachedWorkflows === undefined) return MOST_WORKFLOW_TASKS;
  return Math.min(MOST_WORKFLOW_TASKS, Math.max(LEAST_WORKFLOW_TASKS, Math.floor(maxCachedWorkflows / 2)));
}

/** The connection, namespace and task queue of a worker, and its plugin. */
interface WorkerTarget {
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  plugin: LonghaulPlugin;
}

function workerOptions({ worker = {}, workflowsPath, shutdownGrace = '5m' }: CreateWorkerOptions, target: WorkerTarget): WorkerOptions {
  const { plugin, ...rest } = target;
  const graceMs = timerMilliseconds(shutdownGrace, 'the worker: "shutdownGrace"', { least: 0 });
  return {
    stickyQueueScheduleToStartTimeout: STICKY_MS,
    ...withSlots(worker),
    ...rest,
    ...(workflowsPath === undefined ? {} : { workflowsPath }),
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_AFTER_GRACE_MS,
    plugins: [...(worker.plugins ?? []), plugin],
  };
}

/** Adds the slots. A tuner of the user assigns them itself. */
function withSlots(worker: Partial<WorkerOptions>): Partial<WorkerOptions> {
  if (worker.tuner !== undefined) return worker;
  const {
    maxConcurrentActivityTaskExecutions: calls = MOST_CALLS,
    maxConcurrentLocalActivityExecutions: localCalls = MOST_CALLS,
    maxConcurrentWorkflowTaskExecutions: workflowTasks = workflowTaskSlots(worker),
    maxConcurrentNexusTaskExecutions: nexusTasks = MOST_NEXUS_TASKS,
    ...others
  } = worker;
  const fixed = (numSlots: number): { type: 'fixed-size'; numSlots: number } => ({ type: 'fixed-size', numSlots });
  const slots = new WorkflowTaskSlots(workflowTasks);
  return {
    ...others,
    tuner: {
      workflowTaskSlotSupplier: slots,
      activityTaskSlotSupplier: fixed(calls),
      localActivityTaskSlotSupplier: fixed(localCalls),
      nexusTaskSlotSupplier: fixed(nexusTasks),
    },
    interceptors: { ...others.interceptors, activity: [...(others.interceptors?.activity ?? []), slots.countLocalCalls] },
  };
}

async function connect(options: Parameters<typeof NativeConnection.connect>[0] & { address: string }): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(options);
  } catch (error) {
    throw new LonghaulError('server_unreachable', unreachable(options.address, error), { cause: error });
  }
}
