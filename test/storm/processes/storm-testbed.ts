import { Client, Connection } from '@temporalio/client';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleToFile } from '../../processes/workflow-bundle.ts';
import type { ExecutionHistory } from '../../../src/history/history-events.ts';
import { LonghaulClient } from '../../../src/client/index.ts';
import { CALL_RETRY } from '../../../src/temporal/server-connection.ts';
import { startDevServer } from '../../../src/dev-server/dev-server.ts';
import { Replayer } from '../../../worker/index.ts';
import type { ReplayedExecution } from '../queries/queries-checks.ts';
import { replayed } from '../queries/replayed.ts';
import { StormWorker } from './storm-worker.ts';

const WORKFLOWS = fileURLToPath(new URL('storm-workflows.ts', import.meta.url));

/** The environment of one part of the storm, with a task queue of its own. */
export interface StormTestbed {
  taskQueue: string;
  /** The file that effects are written to. */
  ledger: string;
  /** The first worker, which is running. */
  worker: StormWorker;
  /** Starts another worker, which is stopped with the testbed. */
  addWorker(): Promise<StormWorker>;
  /** Replays the executions of a run, one after the other. */
  replay(runId: string, executions: readonly ExecutionHistory[]): Promise<ReplayedExecution[]>;
  /** A client with a connection of its own, which is closed with the testbed. */
  connect(): Promise<LonghaulClient>;
  say(line: string): void;
}

/** The options of a testbed. */
interface TestbedOptions {
  name: string;
  /** The number of runs that a worker caches. */
  cached?: number;
  /** The number of history events after which a run continues as new. */
  eventsOfExecution?: number;
  /** True: the time-outs are those of the product. */
  isPatient?: boolean;
}

/** Runs a part on a testbed, and cleans up however the part ends. */
export type WithTestbed = <Result>(options: TestbedOptions, work: (testbed: StormTestbed) => Promise<Result>) => Promise<Result>;

/**
 * Starts a fresh dev server, in memory, opens testbeds on it, and ends every process afterwards. A server that TEMPORAL_ADDRESS
 * names is not used, because other runs may use it.
 */
export async function withTestbeds<Result>(say: StormTestbed['say'], work: (withTestbed: WithTestbed) => Promise<Result>): Promise<Result> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  try {
    const bundle = await bundleToFile(WORKFLOWS);
    const replayer = new Replayer({ worker: { workflowBundle: { codePath: bundle.path } } });
    const { address, namespace } = server;
    try {
      return await work(async ({ name, ...options }, runPart) => {
        const ledger = join(dirname(bundle.path), `${name}.jsonl`);
        const workers: StormWorker[] = [];
        const addWorker = async (): Promise<StormWorker> => {
          const worker = new StormWorker({ address, namespace, taskQueue: name, bundlePath: bundle.path, ledger, ...options });
          workers.push(worker);
          await worker.start();
          return worker;
        };
        const clients: LonghaulClient[] = [];
        const connect = async (): Promise<LonghaulClient> => {
          const client = await ownConnection(address, namespace);
          clients.push(client);
          return client;
        };
        try {
          const worker = await addWorker();
          const replay = (runId: string, executions: readonly ExecutionHistory[]): Promise<ReplayedExecution[]> =>
            replayed(replayer, runId, executions, say);
          return await runPart({ taskQueue: name, ledger, worker, addWorker, replay, connect, say: (line) => say(`${name}: ${line}`) });
        } finally {
          await Promise.all(clients.map((client) => client.close()));
          await Promise.all(workers.map((worker) => worker.stop()));
        }
      });
    } finally {
      await replayer.close();
      await bundle.remove();
    }
  } finally {
    await server.stop();
  }
}

/**
 * Connects like `connect()`, but with a connection of its own: by default, channels of one process to one address share a
 * connection.
 */
async function ownConnection(address: string, namespace: string): Promise<LonghaulClient> {
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const connection = await Connection.connect({ address, channelArgs, interceptors: CALL_RETRY });
  return new LonghaulClient(new Client({ connection, namespace }));
}
