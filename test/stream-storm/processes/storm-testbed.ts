import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../../src/client/index.ts';
import type { Random } from '../../crash/runs/random-kills.ts';
import { unusedPort } from '../../processes/crash-server.ts';
import { ProgramProcess } from '../../processes/program-process.ts';
import { RedisServer } from '../../streams/redis-server.ts';
import { BalancingProxy } from './balancing-proxy.ts';
import type { ProcessSetting, ServiceSetting, Waiting, WorkerReply, WorkerSetting } from './settings.ts';

const WORKER = fileURLToPath(new URL('worker-process.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('instance-process.ts', import.meta.url));

const DRAIN_MS = 1_000;
/** The longest outage of Redis. */
const AWAY_MS = 1_500;

/** The kinds of processes that are killed. */
export const KINDS = ['workers', 'services', 'redis'] as const;

export type Kind = (typeof KINDS)[number];

/** A process that may be killed. */
export interface Victim {
  kind: Kind;
  /** Kills it, and resolves once another one works. */
  killAndStart(random: Random): Promise<void>;
}

/** The server and the workflows that a storm runs on. */
export interface StormPlace {
  address: string;
  namespace: string;
  taskQueue: string;
  bundlePath: string;
  workers: number;
}

/** A Redis, workers, two services behind a proxy, and a client. */
export interface StormTestbed {
  client: LonghaulClient;
  taskQueue: string;
  proxy: BalancingProxy;
  services: readonly ProgramProcess[];
  /** The addresses of the services themselves. */
  urls: readonly string[];
  victims: readonly Victim[];
  /** Called for each call that waits for an approval, at least once. */
  onWaiting: (waiting: Waiting) => void;
  /** The reasons why processes have ended by themselves. */
  failures(): string[];
}

/** Starts everything, and ends it afterwards. */
export async function withStorm<Result>(place: StormPlace, work: (testbed: StormTestbed) => Promise<Result>): Promise<Result> {
  const { address, namespace, taskQueue, bundlePath } = place;
  const redis = await RedisServer.start(await unusedPort());
  const setting: ProcessSetting = { address, namespace, taskQueue, redisUrl: redis.url };
  const ports = [await unusedPort(), await unusedPort()];
  const services = ports.map((port) => new ProgramProcess(SERVICE, { ...setting, port, drainMs: DRAIN_MS } satisfies ServiceSetting));
  const workers = Array.from(
    { length: place.workers },
    () => new ProgramProcess<never, WorkerReply>(WORKER, { ...setting, bundlePath } satisfies WorkerSetting),
  );
  const client = await connect({ address, namespace, taskQueue });
  const proxy = await BalancingProxy.start(ports);
  const testbed: StormTestbed = {
    client,
    taskQueue,
    proxy,
    services,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    victims: [
      ...workers.map((worker): Victim => ({ kind: 'workers', killAndStart: () => worker.killAndStart() })),
      ...services.map((service): Victim => ({ kind: 'services', killAndStart: () => service.killAndStart() })),
      { kind: 'redis', killAndStart: (random) => loseRedis(redis, random) },
    ],
    onWaiting: () => undefined,
    failures: () => [...workers, ...services].flatMap(({ failure }) => (failure === undefined ? [] : [failure.message])),
  };
  for (const worker of workers) worker.listen('waiting', (waiting) => testbed.onWaiting(waiting));
  try {
    await Promise.all([...workers, ...services].map((process) => process.start()));
    return await work(testbed);
  } finally {
    await Promise.all([...workers, ...services].map((process) => process.stop()));
    await proxy.close();
    await client.close();
    await redis.stop();
  }
}

/** Kills Redis, and starts it after a moment: with its data, or with nothing. */
async function loseRedis(redis: RedisServer, random: Random): Promise<void> {
  await redis.kill();
  if (random() < 0.5) redis.wipe();
  await pause(random() * AWAY_MS);
  await redis.start();
}
