import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient, memoryStreams, redisStreams } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { startRedis } from '../sides/redis-process.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';
import { startWorkers, type WorkersSetting } from './stream-workers.ts';
import type { Sink } from './stream-options.ts';
import { startTokenProvider } from './token-script.ts';

/** The environment of a measurement of streams. */
export interface StreamSurroundings {
  /** Starts the runs, and reads them. */
  client: LonghaulClient;
  machine: Machine;
}

const PROGRAM = fileURLToPath(new URL('../processes/stream.ts', import.meta.url));

/**
 * Starts a dev server, two workers that differ in the sink alone, and a client with that sink. With Redis, the workers are in a process apart
 * from the client. Ends everything afterwards.
 */
export async function withStreams<Result>(
  sink: Sink,
  say: (line: string) => void,
  measure: (surroundings: StreamSurroundings) => Promise<Result>,
): Promise<Result> {
  await using all = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  all.defer(() => server.stop());
  const bundle = await bundleToFile();
  all.defer(() => bundle.remove());
  const provider = await startTokenProvider();
  all.defer(() => provider.stop());
  const { address, namespace } = server;
  const { streams, work, stop } = sink === 'memory' ? await inOneProcess() : await inTwoProcesses();
  all.defer(stop);
  const client = await connect({ address, namespace, streams });
  all.defer(() => client.close());
  all.defer(await work({ address, namespace, bundlePath: bundle.path, providerURL: provider.baseURL }));
  return await measure({ client, machine: await describeMachine(client.temporal) });
}

interface Opened {
  streams: ReturnType<typeof memoryStreams>;
  work: (setting: WorkersSetting) => Promise<() => Promise<void>>;
  stop: () => Promise<void>;
}

async function inOneProcess(): Promise<Opened> {
  const streams = memoryStreams();
  return { streams, work: (setting) => startWorkers(setting, streams), stop: async () => undefined };
}

async function inTwoProcesses(): Promise<Opened> {
  const { url, stop } = await startRedis();
  const work = async (setting: WorkersSetting): Promise<() => Promise<void>> => {
    const child = new ProgramProcess<{ type: 'stop' }, { type: 'ready' }>(PROGRAM, { ...setting, url });
    await child.start();
    return () => child.stop({ type: 'stop' });
  };
  return { streams: redisStreams({ url }), work, stop };
}
