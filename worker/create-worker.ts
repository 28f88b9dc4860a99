import {
  type ActivityInterceptorsFactory,
  type CustomSlotSupplier,
  NativeConnection,
  Runtime,
  type SlotMarkUsedContext,
  type SlotPermit,
  type SlotReleaseContext,
  type SlotReserveContext,
  Worker,
  type WorkerOptions,
  type WorkflowSlotInfo,
} from '@temporalio/worker';
import type { ResourceHealth } from '../activities/resources/resource-pool.ts';
import type { WorkerStoresHealth } from '../activities/resources/store-watch.ts';
import { unreachable } from '../src/client/longhaul-client.ts';
import type { CodecOptions } from '../src/codec/encryption.ts';
import { LonghaulError, UsageError } from '../src/core/domain/errors.ts';
import { defined } from '../src/core/domain/json.ts';
import { type Duration, timerMilliseconds } from '../src/core/domain/time.ts';
import { DEFAULT_TASK_QUEUE } from '../src/core/protocol.ts';
import type { AnyAgent, ResourcesOfAgents, ResourcesOption } from '../src/define/agent-definition.ts';
import { nonEmpty, requireKnown } from '../src/define/option-checks.ts';
import type { LogOptions } from '../src/log/log-writer.ts';
import { streamsNotice } from '../src/streams/stream-sink.ts';
import { resolveServer } from '../src/temporal/server-connection.ts';
import { bundleWorkflows, RUNS_MODULE } from './bundle-workflows.ts';
import { installLog } from './install-log.ts';
import { checkWorkerParts, LonghaulPlugin, type LonghaulPluginOptions, PLUGIN_OPTIONS, type PluginContext, pluginIn } from './plugin.ts';
import { requestShutdown } from './requested-shutdown.ts';
import { requireSupport } from './versioning.ts';

/** Options of a worker: its agents, its connection, and the user's workflows. */
export interface CreateWorkerOptions extends LonghaulPluginOptions, LogOptions {
  /** An existing connection. Default: a new one from `address`, the environment and the CLI's profile. */
  connection?: NativeConnection;
  /** `host:port`. */
  address?: string;
  /** The Temporal namespace. Default: the profile's, or `default`. */
  namespace?: string;
  /** Default `longhaul`. */
  taskQueue?: string;
  /** A module of your own workflows to run in the same worker. */
  workflowsPath?: string;
  /**
   * The time that calls in flight have to finish after a shutdown has begun (SIGTERM, or `shutdown()`), before another
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

/** The names of the options that the plugin does not have. The compiler reports one that is missing here. */
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
  /** The task queue that it polls. */
  readonly taskQueue: string;
  /** The Temporal namespace. */
  readonly namespace: string;
  /** The underlying Temporal Worker. */
  readonly worker: Worker;
  /** Polls until a shutdown, and resolves when all work has drained. SIGINT and SIGTERM begin a shutdown. */
  run(): Promise<void>;
  /**
   * Begins a shutdown: accepts no new tasks, and lets calls in flight finish within the grace time. Before `run()`, or while the worker
   * starts, it makes `run()` resolve without taking a task. Idempotent.
   */
  shutdown(): void;
  /** Returns the health of the worker, for a readiness probe. */
  health(): Promise<WorkerHealth>;
}

/** The health of a worker. */
export interface WorkerHealth {
  /** True if the worker polls and none of its resources has failed. */
  readonly ready: boolean;
  /** The state of the underlying Temporal Worker, such as `RUNNING` or `DRAINING`. */
  readonly state: string;
  /** True if a resource or a store of the worker has failed: it works, with less. */
  readonly degraded: boolean;
  /** The resources made with `resource()`, by name. `health()` repeats checks that are too old. */
  readonly resources: Readonly<Record<string, ResourceHealth>>;
  /** The stores of the worker (`payloadStore`, `archive`, `memory`), as their last accesses have shown them. */
  readonly stores: WorkerStoresHealth;
}

/**
 * The default slots. Agents wait for models and tools and need little CPU, so a worker should not be limited by the
 * number of waiting calls. The SDK's defaults are 100, 100 and 40. A workflow task waits for its local activities.
 */
const MOST_CALLS = 500;
const MOST_WORKFLOW_TASKS = 200;
/** The SDK's default: Longhaul has no Nexus operations. */
const MOST_NEXUS_TASKS = 100;
/** The SDK requires two, one of them for cached runs. */
const LEAST_WORKFLOW_TASKS = 2;
/** How long a task waits in the queue of a worker that may be dead, in milliseconds. The SDK's default is twice as long. */
const STICKY_MS = 5_000;
/** How long calls have to react to being aborted at the end of the grace time. */
const FORCE_AFTER_GRACE_MS = 30_000;

/**
 * Creates a worker for agents. Throws a UsageError for unknown options, conflicting agents or tools,
 * an executor that does not isolate code on this machine, and versioning that the server does not support;
 * `server_unreachable` with the address if no server answers;
 * `encryption_key_missing` if the active encryption key is not available; and `resource_unavailable` for a resource
 * that cannot be opened.
 */
export async function createWorker<const Agents extends readonly AnyAgent[]>(
  options: CreateWorkerOptions & { agents: Agents } & ResourcesOption<ResourcesOfAgents<Agents>>,
): Promise<LonghaulWorker> {
  return openWorker(options);
}

/** As `createWorker`. `context` has what only the kit for tests sets. */
export async function openWorker(options: CreateWorkerOptions, context: PluginContext = {}): Promise<LonghaulWorker> {
  const plugin = pluginIn(context, checkedOptions(options));
  installLog(options, { page: options.telemetry?.page });
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
    shutdown: () => requestShutdown(worker),
    health: () => healthOf(worker, plugin),
  };
}

function checkedOptions(options: CreateWorkerOptions): LonghaulPluginOptions {
  requireKnown('the worker', options, { ...PLUGIN_OPTIONS, ...OWN_OPTIONS });
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
  const stores = plugin.storeHealth();
  const failed = Object.values(resources).some((one) => one.state === 'failed');
  const degraded = failed || Object.values(stores).some((one) => one.state === 'failed');
  return { ready: state === 'RUNNING' && !failed, degraded, state, resources, stores };
}

/**
 * Returns the default slots for workflow tasks: at most half of the cached runs. If every cached run has a task, the SDK cannot
 * evict any, and may lose a waiting task (docs/upstream/lost-tasks-of-a-full-cache.md).
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
    ...defined({ workflowsPath }),
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_AFTER_GRACE_MS,
    plugins: [...(worker.plugins ?? []), plugin],
  };
}

/** Adds the slots, unless a user's tuner assigns them. */
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

/** Bounds for admitting runs that the worker has to load, in concurrent tasks and in milliseconds. */
const ADMISSION = {
  /** The initial limit: the worker does not know yet how long its tasks take. */
  first: 4,
  least: 1,
  /** A higher limit would not speed up a worker, whose CPU does one task at a time, and would be too high once tasks take longer. */
  most: 16,
  /** A task that takes at most this long shows that there is room for more. */
  shortMs: 1_000,
  /** A task that takes longer shows that there are too many. The server gives a task to another worker after 10 seconds. */
  longMs: 2_000,
} as const;

/** A slot, from its reservation to its release. */
interface Slot extends SlotPermit {
  /** True if the task's run is not in this worker's memory. */
  isLoading: boolean;
  use?: {
    sinceMs: number;
    /** The number of tasks in progress when this one began, including it. */
    among: number;
    /** The number of local calls begun so far, if none was running; undefined otherwise. */
    localCalls: number | undefined;
  };
}

/** A poller that waits for a slot. */
interface Waiting {
  isLoading: boolean;
  grant: (slot: Slot) => void;
}

/**
 * The slots of a worker for workflow tasks. The server counts a task's time from the moment the worker takes it, and a worker
 * that takes 200 runs which it has to load cannot finish the last ones in time: they would be repeated. So it takes
 * few of them at first, and more while its tasks are short. Tasks of runs in memory are never held back.
 */
export class WorkflowTaskSlots implements CustomSlotSupplier<WorkflowSlotInfo> {
  readonly type = 'custom';
  /** Counts local calls: a task that waits for one uses no CPU, so it does not count. */
  readonly countLocalCalls: ActivityInterceptorsFactory;
  readonly #most: number;
  readonly #now: () => number;
  /** The slots held by pollers and tasks, and those held by tasks. */
  readonly #issued = { loading: 0, loaded: 0 };
  readonly #inUse = { loading: 0, loaded: 0 };
  readonly #waiting: Waiting[] = [];
  readonly #local = { running: 0, begun: 0 };
  #limit: number = ADMISSION.first;

  /** `most`: the slots of all tasks. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.countLocalCalls = ({ info }) =>
      info.isLocal
        ? {
            inbound: {
              execute: async (input, next) => {
                this.#local.running += 1;
                this.#local.begun += 1;
                this.#grantWaiting();
                try {
                  return await next(input);
                } finally {
                  this.#local.running -= 1;
                }
              },
            },
          }
        : {};
  }

  /** The number of tasks in progress up to which the worker takes runs that it has to load. */
  get limit(): number {
    return this.#limit;
  }

  reserveSlot({ isSticky }: SlotReserveContext, abortSignal: AbortSignal): Promise<Slot> {
    const isLoading = !isSticky;
    if (this.#hasRoom(isLoading)) return Promise.resolve(this.#issue(isLoading));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        isLoading,
        grant: (slot) => {
          abortSignal.removeEventListener('abort', abort);
          resolve(slot);
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(abortSignal.reason as Error);
      };
      this.#waiting.push(waiting);
      abortSignal.addEventListener('abort', abort, { once: true });
    });
  }

  tryReserveSlot({ isSticky }: SlotReserveContext): Slot | null {
    return this.#hasRoom(!isSticky) ? this.#issue(!isSticky) : null;
  }

  markSlotUsed({ permit }: SlotMarkUsedContext<WorkflowSlotInfo>): void {
    const slot = permit as Slot;
    const { loading, loaded } = this.#inUse;
    // The worker was idle: its earlier short tasks say nothing about the next ones.
    if (loading + loaded === 0) this.#limit = Math.min(this.#limit, ADMISSION.first);
    this.#inUse[kindOf(slot)] += 1;
    const { running, begun } = this.#local;
    slot.use = { sinceMs: this.#now(), among: loading + loaded + 1, localCalls: running === 0 ? begun : undefined };
  }

  releaseSlot({ permit }: SlotReleaseContext<WorkflowSlotInfo>): void {
    const slot = permit as Slot;
    this.#issued[kindOf(slot)] -= 1;
    if (slot.use !== undefined) {
      this.#inUse[kindOf(slot)] -= 1;
      // A task that waits for a local call says nothing about the worker.
      if (slot.use.localCalls === this.#local.begun) this.#learn(slot.isLoading, slot.use);
    }
    this.#grantWaiting();
  }

  #learn(isLoading: boolean, { sinceMs, among }: NonNullable<Slot['use']>): void {
    const tookMs = this.#now() - sinceMs;
    if (tookMs > ADMISSION.longMs) {
      const fitting = Math.floor((among * ADMISSION.longMs) / tookMs);
      this.#limit = Math.min(this.#limit, Math.max(ADMISSION.least, fitting));
    } else if (isLoading && tookMs <= ADMISSION.shortMs && among >= this.#limit / 2) {
      // A limit that was never nearly reached has not been tested.
      this.#limit = Math.min(ADMISSION.most, this.#limit + 1);
    }
  }

  /** True if another slot may be issued. Each kind has at least one: without a poller of a kind, a worker would not see its tasks. */
  #hasRoom(isLoading: boolean): boolean {
    const { loading, loaded } = this.#issued;
    const [same, other] = isLoading ? [loading, loaded] : [loaded, loading];
    if (same === 0) return true;
    if (loading + loaded >= this.#most - (other === 0 ? 1 : 0)) return false;
    return !isLoading || loading + this.#inUse.loaded < this.#limit + this.#local.running;
  }

  #issue(isLoading: boolean): Slot {
    const slot = { isLoading };
    this.#issued[kindOf(slot)] += 1;
    return slot;
  }

  #grantWaiting(): void {
    for (let index = 0; index < this.#waiting.length;) {
      const { isLoading, grant } = this.#waiting[index] as Waiting;
      if (this.#hasRoom(isLoading)) {
        this.#waiting.splice(index, 1);
        grant(this.#issue(isLoading));
      } else index += 1;
    }
  }
}

function kindOf({ isLoading }: Slot): 'loading' | 'loaded' {
  return isLoading ? 'loading' : 'loaded';
}

/**
 * Bundles the workflows once for several workers that are started in succession: bundling takes most of their
 * start. The code does not depend on agents.
 */
export async function bundleAhead({
  workflowsPath = RUNS_MODULE,
  codec,
}: {
  workflowsPath?: string;
  codec: CodecOptions;
}): Promise<string> {
  const { code } = await bundleWorkflows({ workflowsPath, plugins: [new LonghaulPlugin({ agents: [], providers: {}, codec })] });
  return code;
}
