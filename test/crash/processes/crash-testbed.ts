import { Client, Connection, type WorkflowClientInterceptor } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { LonghaulClient } from '../../../src/client/index.ts';
import { CALL_RETRY } from '../../../src/temporal/server-connection.ts';
import { CrashServer } from '../../processes/crash-server.ts';
import { ProgramProcess } from '../../processes/program-process.ts';
import type { Kill } from '../points/activity-points.ts';
import { defined } from '../../../src/core/domain/json.ts';
import type { CollectedTraces } from '../../telemetry/collected-traces.ts';
import type { Ledger } from './ledger.ts';
import { TASK_TIMEOUT_MS } from '../points/points.ts';
import { Replayer } from '../../../worker/index.ts';
import { readChain, replayed } from '../../storm/replayed.ts';

/** The process that is killed: the worker or the Temporal server. */
export const PASSES = ['worker', 'server'] as const;

export type Pass = (typeof PASSES)[number];

/** The settings of a worker's process, passed as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file of the ledger. */
  ledger: string;
  /** The file of the memory of programs. */
  memory: string;
  heartbeatMs: number;
  /** Milliseconds without a heartbeat after which a call with effect `once` is given up. */
  onceTimeoutMs: number;
  /** The number of history events after which a run continues as new. */
  eventsOfExecution: number;
  /** The number of cached runs; the default of the SDK if it is left out. */
  cached?: number;
  /** The URL of the collector that traces are reported to. Absent: no traces. */
  collector?: string;
}

/** A message to the process: the process to kill from now on, or none. */
export interface ToWorker {
  type: 'arm';
  kill?: Kill;
}

/** A message from the process. */
export type FromWorker = { type: 'ready' } | { type: 'armed' } | ({ type: 'waiting' } & Waiting);

/** A pending approval. */
export interface Waiting {
  runId: string;
  callId: string;
  digest: string;
}

/** A worker that is started again at once if it is killed. */
type CrashWorker = ProgramProcess<ToWorker, FromWorker>;

const WORKER = fileURLToPath(new URL('worker-process.ts', import.meta.url));

/** A worker, a server and a client for one run after the other, on one task queue. */
export interface CrashTestbed {
  pass: Pass;
  taskQueue: string;
  client: LonghaulClient;
  worker: CrashWorker;
  server: CrashServer;
  ledger: Ledger;
  /** The file of the memory of programs. */
  memory: string;
  /** Set if runs are queried all the time. */
  histories?: HistoryCheck;
  /** Set if the worker reports traces. */
  traces?: CollectedTraces;
  close(): Promise<void>;
}

/** The resources that all testbeds share. */
export interface SharedResources {
  /** The folder for all files. */
  folder: string;
  cliPath: string;
  bundlePath: string;
  ledger: Ledger;
  /** Set if runs are queried all the time: workers then cache hardly any run, and every history is checked. */
  histories?: HistoryCheck;
  /** Set if workers report traces, which are checked. */
  traces?: CollectedTraces;
}

/**
 * If the worker dies, heartbeats are frequent, so that the death is noticed soon: the run says how frequent. If the server dies, the worker lives and has
 * to report its call; it does if the server is back in time.
 */
const TIMING = { worker: { onceTimeoutMs: 5_000 }, server: { heartbeatMs: 1_500, onceTimeoutMs: 20_000 } } as const;

/** Reconnects to a server that was gone sooner than by default. */
const CHANNEL = { 'grpc.use_local_subchannel_pool': 1, 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 300 };

/** Sessions are started with a time limit for workflow tasks, which their handles do not offer. */
const SHORT_TASKS: WorkflowClientInterceptor = {
  startUpdateWithStart: (input, next) =>
    next({ ...input, workflowStartOptions: { ...input.workflowStartOptions, workflowTaskTimeout: msToTs(TASK_TIMEOUT_MS) } }),
};

const MEMORY_FILE = 'memory.json';

/** The number of cached runs if runs are queried all the time. */
const HARDLY_ANY = 2;

/** The options of one testbed. */
interface TestbedOptions extends RunTiming {
  pass: Pass;
  /** Default: a separate one. */
  sharedServer?: CrashServer;
}

/** The options that depend on the run. */
export interface RunTiming {
  eventsOfExecution: number;
  /** Milliseconds between the heartbeats of workers that are killed. */
  heartbeatMs: number;
}

let opened = 0;

/** Opens a testbed, on the given server or on a separate one. */
export async function openTestbed(
  resources: SharedResources,
  { pass, eventsOfExecution, heartbeatMs, sharedServer }: TestbedOptions,
): Promise<CrashTestbed> {
  const taskQueue = `${pass}-${(opened += 1)}`;
  const server = sharedServer ?? (await CrashServer.start(resources.cliPath, join(resources.folder, `${taskQueue}.db`)));
  const { address, namespace } = server;
  const { bundlePath, ledger, histories, traces } = resources;
  const memory = join(resources.folder, MEMORY_FILE);
  const setting = {
    address,
    namespace,
    taskQueue,
    bundlePath,
    ledger: ledger.path,
    eventsOfExecution,
    heartbeatMs,
    memory,
    ...(histories === undefined ? {} : { cached: HARDLY_ANY }),
    ...(traces === undefined ? {} : { collector: traces.url }),
    ...TIMING[pass],
  };
  const worker: CrashWorker = new ProgramProcess<ToWorker, FromWorker>(WORKER, setting satisfies WorkerSetting, { isKilledByOthers: true });
  let connection: Connection | undefined;
  const close = async (): Promise<void> => {
    await connection?.close();
    await worker.stop();
    if (sharedServer === undefined) await server.stop();
  };
  try {
    [connection] = await Promise.all([Connection.connect({ address, channelArgs: CHANNEL, interceptors: CALL_RETRY }), worker.start()]);
    const client = new LonghaulClient(new Client({ connection, namespace, interceptors: { workflow: [SHORT_TASKS] } }));
    return { pass, taskQueue, client, worker, server, ledger, memory, close, ...defined({ histories, traces }) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Kills a process of the testbed, and resolves when it is dead. Its successor is then being started. */
export async function kill(testbed: CrashTestbed, victim: Pass): Promise<void> {
  const { kills } = testbed[victim];
  void testbed[victim].kill();
  while (testbed[victim].kills === kills) await pause(1);
}

/** Replays histories: a run that a query has made inconsistent does not replay. */
export class HistoryCheck {
  readonly #replayer: Replayer;
  #last: Promise<unknown> = Promise.resolve();

  /** `bundlePath`: the workflows of the workers. */
  constructor(bundlePath: string) {
    const nothing = { fn: () => undefined, callDuringReplay: false };
    this.#replayer = new Replayer({ worker: { workflowBundle: { codePath: bundlePath }, sinks: { crash: { reached: nothing } } } });
  }

  /** The problems with the histories of a run. Runs are checked sequentially, because a replayer does one replay at a time. */
  problems(client: Client, runId: string): Promise<string[]> {
    const checked = this.#last.then(async () => {
      const executions = await replayed(this.#replayer, runId, await readChain(client, runId));
      return executions.flatMap(({ failedTasks, divergence }, index) => [
        ...failedTasks.map((failure) => `a workflow task of execution ${index + 1} failed: ${failure}`),
        ...(divergence === undefined ? [] : [`execution ${index + 1} does not replay: ${divergence}`]),
      ]);
    });
    this.#last = checked.catch(() => undefined);
    return checked;
  }

  close(): Promise<void> {
    return this.#replayer.close();
  }
}
