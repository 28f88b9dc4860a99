import { Client, Connection } from '@temporalio/client';
import { dirname, join } from 'node:path';
import { bundleToFile } from '../../bench/workflow-bundle.ts';
import { LonghaulClient } from '../../src/client/index.ts';
import { SHED_RETRY } from '../../src/client/shed-retry.ts';
import { startDevServer } from '../../src/dev-server/index.ts';
import { StormWorker } from './storm-worker.ts';

/** Where a part of the storm takes place: on a task queue of its own. */
export interface Stage {
  taskQueue: string;
  /** The file that effects are written to. */
  ledger: string;
  /** Its worker is running. */
  worker: StormWorker;
  /** A client with a connection of its own, closed with the stage. */
  connect(): Promise<LonghaulClient>;
  say(line: string): void;
}

/** What a part is played with. */
interface StageOptions {
  name: string;
  /** Runs that the worker keeps in memory. */
  cached?: number;
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
    const bundle = await bundleToFile();
    const { address, namespace } = server;
    try {
      return await play(async ({ name, cached }, playPart) => {
        const ledger = join(dirname(bundle.path), `${name}.jsonl`);
        const worker = new StormWorker({
          address,
          namespace,
          taskQueue: name,
          bundlePath: bundle.path,
          ledger,
          ...(cached === undefined ? {} : { cached }),
        });
        const clients: LonghaulClient[] = [];
        const connect = async (): Promise<LonghaulClient> => {
          const client = await ownConnection(address, namespace);
          clients.push(client);
          return client;
        };
        try {
          await worker.start();
          return await playPart({ taskQueue: name, ledger, worker, connect, say: (line) => say(`${name}: ${line}`) });
        } finally {
          await Promise.all(clients.map((client) => client.close()));
          await worker.stop();
        }
      });
    } finally {
      await bundle.remove();
    }
  } finally {
    await server.stop();
  }
}

/** As `connect()` does it; but channels of one process to one address share a connection, unless each is told to have its own. */
async function ownConnection(address: string, namespace: string): Promise<LonghaulClient> {
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const connection = await Connection.connect({ address, channelArgs, interceptors: SHED_RETRY });
  return new LonghaulClient(new Client({ connection, namespace }));
}
