import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CreateWorkerOptions, type LonghaulWorker, openWorker } from '../../../worker/create-worker.ts';

/** The options of a test's workers. */
export interface DurableWorkersOptions {
  worker: CreateWorkerOptions & { address: string };
  /** True if the test plans to disconnect or kill a worker. */
  hasWorkerFaults: boolean;
}

interface Polling {
  worker: LonghaulWorker;
  running: Promise<void>;
  proxy: TcpProxy | undefined;
}

/** The time that a killed worker may take to shut down, in milliseconds; by then its connection is restored. */
const KILLED_WORKER_MS = 10_000;

/** The successive workers of a test on a server. */
export class DurableWorkers {
  readonly #options: DurableWorkersOptions;
  readonly #killed: Polling[] = [];
  readonly #failure = Promise.withResolvers<never>();
  #current: Polling;

  private constructor(options: DurableWorkersOptions, first: Polling) {
    this.#options = options;
    this.#current = first;
    this.#failure.promise.catch(() => undefined);
    this.#watch(first);
  }

  /** Starts the first worker. Throws the errors of `createWorker`. */
  static async start(options: DurableWorkersOptions): Promise<DurableWorkers> {
    return new DurableWorkers(options, await poll(options));
  }

  /** Rejects if a worker stops without having been killed. */
  get failure(): Promise<never> {
    return this.#failure.promise;
  }

  /**
   * Kills the current worker: its connection is cut, so that to the server its process has died, and its activities
   * are aborted.
   */
  async kill(): Promise<never> {
    const killed = this.#current;
    this.#killed.push(killed);
    killed.proxy?.cut();
    killed.worker.shutdown();
    this.#current = await poll(this.#options);
    this.#watch(this.#current);
    throw new Error('The worker of this test was killed');
  }

  /** Disconnects the worker from its server for this many milliseconds. */
  disconnect(ms: number): void {
    const { proxy } = this.#current;
    proxy?.cut();
    setTimeout(() => proxy?.restore(), ms);
  }

  /** Shuts all workers down, including killed ones. */
  async stop(): Promise<void> {
    const all = [...this.#killed, this.#current];
    for (const { worker, proxy } of all) {
      // A killed worker shuts down sooner with a connection; the server ignores it.
      proxy?.restore();
      worker.shutdown();
    }
    await Promise.all(all.map(({ running }) => Promise.race([running, sleep(KILLED_WORKER_MS, undefined, { ref: false })])));
    await Promise.all(all.map(async ({ proxy }) => proxy?.close()));
  }

  #watch(polling: Polling): void {
    polling.running.catch((error: unknown) => {
      if (!this.#killed.includes(polling)) this.#failure.reject(error);
    });
    // Failures are reported by `failure`; stopping ignores them.
    polling.running = polling.running.catch(() => undefined);
  }
}

async function poll({ worker: options, hasWorkerFaults }: DurableWorkersOptions): Promise<Polling> {
  const proxy = hasWorkerFaults ? await startTcpProxy(options.address) : undefined;
  // The models of a test have no batches: calls of every tier are made at once, as in memory.
  const worker = await openWorker({ ...options, address: proxy?.address ?? options.address }, { batches: false });
  return { worker, running: worker.run(), proxy };
}

/** A TCP proxy between a worker and its server, which a test can cut. */
interface TcpProxy {
  /** `host:port` for the worker. */
  readonly address: string;
  /** Drops every connection, and refuses new ones until `restore`. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

const LOCALHOST = '127.0.0.1';

/** Starts a proxy to the server at `address` (`host:port`). */
async function startTcpProxy(address: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    join(near, far);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
  });
  await listening(server);
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `${LOCALHOST}:${(server.address() as AddressInfo).port}`,
    cut,
    restore: () => {
      isCut = false;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Connects both sockets. When one closes, so does the other. */
function join(near: Socket, far: Socket): void {
  near.pipe(far);
  far.pipe(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, LOCALHOST, resolve);
  });
}
