import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../../src/client/index.ts';
import type { Random } from '../../crash/runs/random-kills.ts';
import { unusedPort } from '../../processes/crash-server.ts';
import { ProgramProcess } from '../../processes/program-process.ts';
import { RedisServer } from '../../streams/redis-server.ts';
import { once } from 'node:events';
import { connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { portOf } from '../../../src/dev-server/start-flags.ts';

/** The settings of all processes of a storm, passed as the JSON of their first argument. */
interface ProcessSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  redisUrl: string;
}

/** The settings of a worker. */
export interface WorkerSetting extends ProcessSetting {
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
}

/** The settings of a service. */
export interface ServiceSetting extends ProcessSetting {
  port: number;
  /** How long it keeps serving after SIGTERM, in milliseconds. */
  drainMs: number;
}

/** A call that waits for an approval. */
export interface Waiting {
  runId: string;
  callId: string;
  digest: string;
}

/** A message from a worker. */
export type WorkerReply = { type: 'ready' } | ({ type: 'waiting' } & Waiting);

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

const LOCALHOST = '127.0.0.1';
const LOOK_MS = 100;
const LOOK_WITHIN_MS = 1_500;

/**
 * A proxy that distributes connections to the instances of a service. It takes one out while its `/readyz` is not 200 or it refuses
 * connections. If none is ready, it tries all, as proxies do; if none takes the connection, it is cut.
 */
class BalancingProxy {
  readonly url: string;
  readonly #ports: readonly number[];
  readonly #server: Server;
  readonly #ready = new Set<number>();
  readonly #sockets = new Set<Socket>();
  readonly #closed = new AbortController();
  #turn = 0;

  private constructor(ports: readonly number[], server: Server) {
    this.#ports = ports;
    this.#server = server;
    this.url = `http://${LOCALHOST}:${portOf(server)}`;
    server.on('connection', (near) => this.#pass(near, this.#candidates()));
    for (const port of ports) void this.#watch(port);
  }

  static async start(ports: readonly number[]): Promise<BalancingProxy> {
    const server = createServer();
    server.listen(0, LOCALHOST);
    await once(server, 'listening');
    return new BalancingProxy(ports, server);
  }

  /** The ports of the instances that are ready. */
  get ready(): readonly number[] {
    return [...this.#ready];
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Returns the ports to try: those that are ready by turns, and then the others. */
  #candidates(): number[] {
    const start = this.#turn++ % this.#ports.length;
    const inTurn = [...this.#ports.slice(start), ...this.#ports.slice(0, start)];
    const isReady = (port: number): boolean => this.#ready.has(port);
    const ready = inTurn.filter(isReady);
    return ready.length > 0 ? ready : inTurn;
  }

  #pass(near: Socket, [port, ...others]: number[]): void {
    if (port === undefined) return void near.destroy();
    near.on('error', () => undefined);
    const far = connectSocket(port, LOCALHOST);
    const refused = (): void => {
      this.#ready.delete(port);
      this.#pass(near, others);
    };
    far.once('error', refused);
    far.once('connect', () => {
      far.off('error', refused);
      for (const [one, other] of [[near, far] as const, [far, near] as const]) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  async #watch(port: number): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const isReady = await fetch(`http://${LOCALHOST}:${port}/readyz`, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(LOOK_WITHIN_MS)]),
      })
        .then(async (response) => {
          await response.body?.cancel();
          return response.status === 200;
        })
        .catch(() => false);
      if (isReady) this.#ready.add(port);
      else this.#ready.delete(port);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}
