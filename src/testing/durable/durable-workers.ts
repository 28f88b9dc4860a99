import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from '../../../worker/create-worker.ts';
import { type TcpProxy, startTcpProxy } from './tcp-proxy.ts';

/** What the workers of a test are made of. */
export interface DurableWorkersOptions {
  worker: CreateWorkerOptions & { address: string };
  /** Whether the test means to cut a worker off or to kill it. */
  isHarmed: boolean;
}

interface Polling {
  worker: LonghaulWorker;
  running: Promise<void>;
  cable: TcpProxy | undefined;
}

/** How long a worker that was killed may take to find out, in milliseconds: until then its server is back. */
const BURIAL_MS = 10_000;

/** The workers of a test on a server, one after the other. */
export class DurableWorkers {
  readonly #options: DurableWorkersOptions;
  readonly #dead: Polling[] = [];
  readonly #failure = Promise.withResolvers<never>();
  #current: Polling;

  private constructor(options: DurableWorkersOptions, first: Polling) {
    this.#options = options;
    this.#current = first;
    this.#failure.promise.catch(() => undefined);
    this.#watch(first);
  }

  /** Starts the first of them. Throws what `createWorker` throws. */
  static async start(options: DurableWorkersOptions): Promise<DurableWorkers> {
    return new DurableWorkers(options, await poll(options));
  }

  /** Rejects where a worker ends by itself that was not killed. */
  get failure(): Promise<never> {
    return this.#failure.promise;
  }

  /** To the server it is as if the process had died: no word comes from it any more. What it runs is aborted. */
  async kill(): Promise<never> {
    const killed = this.#current;
    this.#dead.push(killed);
    killed.cable?.cut();
    killed.worker.shutdown();
    this.#current = await poll(this.#options);
    this.#watch(this.#current);
    throw new Error('The worker of this test was killed');
  }

  /** Cuts the worker off from its server for so many milliseconds. */
  disconnect(ms: number): void {
    const { cable } = this.#current;
    cable?.cut();
    setTimeout(() => cable?.mend(), ms);
  }

  /** Shuts all of them down, the dead ones too. */
  async stop(): Promise<void> {
    const all = [...this.#dead, this.#current];
    for (const { worker, cable } of all) {
      // What was killed ends sooner where it can say goodbye; nobody listens to it any more.
      cable?.mend();
      worker.shutdown();
    }
    await Promise.all(all.map(({ running }) => Promise.race([running, sleep(BURIAL_MS, undefined, { ref: false })])));
    await Promise.all(all.map(async ({ cable }) => cable?.close()));
  }

  #watch(polling: Polling): void {
    polling.running.catch((error: unknown) => {
      if (!this.#dead.includes(polling)) this.#failure.reject(error);
    });
    // Whoever stops the workers has nobody to tell.
    polling.running = polling.running.catch(() => undefined);
  }
}

async function poll({ worker: options, isHarmed }: DurableWorkersOptions): Promise<Polling> {
  const cable = isHarmed ? await startTcpProxy(options.address) : undefined;
  const worker = await createWorker({ ...options, address: cable?.address ?? options.address });
  return { worker, running: worker.run(), cable };
}
