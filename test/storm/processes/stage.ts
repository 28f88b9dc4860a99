import { Client, Connection } from '@temporalio/client';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleToFile } from '../../../bench/workflow-bundle.ts';
import type { ExecutionHistory } from '../../../src/history/execution-history.ts';
import { LonghaulClient } from '../../../src/client/index.ts';
import { UPDATE_RETRY } from '../../../src/temporal/update-retry.ts';
import { startDevServer } from '../../../src/dev-server/index.ts';
import { Replayer } from '../../../worker/index.ts';
import type { ReplayedExecution } from '../queries/queries-checks.ts';
import { replayed } from '../queries/replayed.ts';
import { StormWorker } from './storm-worker.ts';

const WORKFLOWS = fileURLToPath(new URL('storm-workflows.ts', import.meta.url));

/** Where a part of the storm takes place: on a task queue of its own. */
export interface Stage {
  taskQueue: string;
  /** The file that effects are written to. */
  ledger: string;
  /** Its worker is running. */
  worker: StormWorker;
  /** Starts another worker beside it, stopped with the stage. */
  addWorker(): Promise<StormWorker>;
  /** Replays the executions of a run, one after the other. */
  replay(runId: string, executions: readonly ExecutionHistory[]): Promise<ReplayedExecution[]>;
  /** A client with a connection of its own, closed with the stage. */
  connect(): Promise<LonghaulClient>;
  say(line: string): void;
}

/** What a part is played with. */
interface StageOptions {
  name: string;
  /** Runs that a worker keeps in memory. */
  cached?: number;
  /** Events of an execution after which a run continues as new. */
  eventsOfExecution?: number;
}

/** Plays a part on the stage and tidies up, whatever becomes of it. */
export type OnStage = <Result>(options: StageOptions, play: (stage: Stage) => Promise<Result>) => Promise<Result>;

/**
 * Starts a fresh dev server, in memory, hands out stages on it, and ends all that was started. A server that
 * TEMPORAL_ADDRESS names is not used: what else runs there is no business of a storm.
 */
export async function withStages<Result>(say: Stage['say'], play: (onStage: OnStage) => Promise<Result>): Promise<Result> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  try {
    const bundle = await bundleToFile(WORKFLOWS);
    const replayer = new Replayer({ worker: { workflowBundle: { codePath: bundle.path } } });
    const { address, namespace } = server;
    try {
      return await play(async ({ name, ...options }, playPart) => {
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
          return await playPart({ taskQueue: name, ledger, worker, addWorker, replay, connect, say: (line) => say(`${name}: ${line}`) });
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

/** As `connect()` does it; but channels of one process to one address share a connection, unless each is told to have its own. */
async function ownConnection(address: string, namespace: string): Promise<LonghaulClient> {
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const connection = await Connection.connect({ address, channelArgs, interceptors: UPDATE_RETRY });
  return new LonghaulClient(new Client({ connection, namespace }));
}
