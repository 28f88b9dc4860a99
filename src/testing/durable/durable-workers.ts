import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from '../../../worker/create-worker.ts';
import { type TcpProxy, startTcpProxy } from './tcp-proxy.ts';

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

/** The workers of a test on a server, one after another. */
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

  /** Rejects if a worker that was not killed ends by itself. */
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

  /** Disconnects the worker from its server for so many milliseconds. */
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
  const worker = await createWorker({ ...options, address: proxy?.address ?? options.address });
  return { worker, running: worker.run(), proxy };
}
