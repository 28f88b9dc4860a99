import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { connect, type LonghaulClient, type RunHandle } from '../../../src/client/index.ts';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import { runHistory } from '../../../src/history/history-events.ts';
import type { CodecOptions } from '../../../src/codec/encryption.ts';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from '../../../worker/index.ts';

/** A client and a separate task queue on the shared server, whose workers can be started and stopped. `await using` ends all of them. */
export class Testbed {
  readonly taskQueue = `test-${randomUUID()}`;
  readonly address = inject('temporalAddress');
  readonly client: LonghaulClient;
  readonly notices: string[];
  readonly #workers: { worker: LonghaulWorker; running: Promise<void> }[] = [];

  private constructor(client: LonghaulClient, notices: string[]) {
    this.client = client;
    this.notices = notices;
  }

  static async open(namespace = inject('temporalNamespace')): Promise<Testbed> {
    const notices: string[] = [];
    const client = await connect({ address: inject('temporalAddress'), namespace, onNotice: (line) => notices.push(line) });
    return new Testbed(client, notices);
  }

  /** Starts a worker on the task queue of this test. */
  async work(options: Omit<CreateWorkerOptions, 'address' | 'namespace' | 'taskQueue'>): Promise<LonghaulWorker> {
    const worker = await createWorker({
      shutdownGrace: 500,
      ...options,
      worker: {
        // Workflows run in this thread, as in a replay: a separate thread takes a third of a second of CPU for each worker.
        // Workers in separate processes, and workers that a test creates itself, have that thread.
        debugMode: true,
        ...(options.workflowsPath === undefined ? { workflowBundle: sharedBundle(options.codec) } : {}),
        ...options.worker,
      },
      address: this.address,
      namespace: this.client.temporal.options.namespace,
      taskQueue: this.taskQueue,
    });
    this.#workers.push({ worker, running: worker.run() });
    return worker;
  }

  /** Shuts all workers down and waits until they are drained. */
  async stopWorkers(): Promise<void> {
    const workers = this.#workers.splice(0);
    for (const { worker } of workers) worker.shutdown();
    await Promise.all(workers.map(({ running }) => running));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopWorkers();
    await this.client.close();
  }
}

/** The bundle with the workflows of Longhaul and of the tests, for a worker with this codec. */
export function sharedBundle(codec: CodecOptions | undefined): { codePath: string } {
  return { codePath: inject(codec?.encryption === undefined ? 'workflowBundlePath' : 'encryptedBundlePath') };
}

/** The whole history of a run. */
export async function historyOf(testbed: Testbed, run: RunHandle<unknown> | string): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for await (const event of runHistory(testbed.client.temporal, typeof run === 'string' ? run : run.runId)) events.push(event);
  return events;
}

/** The status that Temporal gives the workflow of a run. */
export async function executionStatus(testbed: Testbed, runId: string): Promise<string> {
  const { status } = await testbed.client.temporal.workflow.getHandle(runId).describe();
  return status.name;
}

export { until } from './until.ts';
