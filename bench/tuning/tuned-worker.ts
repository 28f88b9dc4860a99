import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { AGENT_RUN } from '../../src/core/protocol.ts';
import { createWorker } from '../../worker/index.ts';
import { readerAgent } from '../sides/reader-agent.ts';
import { promptFor } from '../script/scripted-run.ts';
import { sequenceModel } from '../script/scripted-models.ts';
import type { TuningOption } from './tuning-options.ts';

const RESULT_CHARS = 200;
const THINKS_MS = 3_000;
const READS_MS = 200;

/** The runs that a worker gets, and the number of times in a round. */
export const LOADS = {
  /** One run, with a model without delay: latency. */
  alone: { agent: 'reader', runs: 1, steps: 20, times: 5 },
  /** As many runs as keep the machine busy: throughput. */
  together: { agent: 'reader', runs: 20, steps: 5, times: 2 },
  /** Many runs that mostly wait for a model, and then for a local tool: the number that a worker can hold at the same time. */
  waiting: { agent: 'waiter', runs: 150, steps: 1, times: 1 },
} as const;

/** One of `LOADS`. */
export type LoadName = keyof typeof LOADS;

/** The environment of the workers. */
export interface TuningStage {
  connection: NativeConnection;
  client: Client;
  namespace: string;
  bundlePath: string;
}

/** A worker with an option, and with a separate task queue. */
export class TunedWorker {
  readonly #taskQueue = `bench-tuning-${randomUUID()}`;
  readonly #client: Client;
  readonly #eagerStart: boolean;
  #stop: () => Promise<void> = () => Promise.resolve();

  private constructor({ connection, client, namespace }: TuningStage, { eagerStart }: TuningOption) {
    // The first task of a run goes directly to a worker only if the run is started over that worker's connection.
    this.#client = eagerStart ? new Client({ connection, namespace }) : client;
    this.#eagerStart = eagerStart === true;
  }

  /** Starts the worker, and warms it up. */
  static async start(stage: TuningStage, option: TuningOption): Promise<TunedWorker> {
    const tuned = new TunedWorker(stage, option);
    const { connection, namespace, bundlePath } = stage;
    const worker = await createWorker({
      agents: [
        readerAgent(RESULT_CHARS, { model: 'now/pages' }),
        readerAgent(RESULT_CHARS, { name: 'waiter', model: 'later/pages', tier: 'local', readsMs: READS_MS }),
      ],
      providers: { now: sequenceModel(), later: sequenceModel({ thinksMs: THINKS_MS }) },
      connection,
      namespace,
      taskQueue: tuned.#taskQueue,
      shutdownGrace: 1_000,
      worker: { ...option.worker, workflowBundle: { codePath: bundlePath } },
    });
    const running = worker.run();
    tuned.#stop = async () => {
      worker.shutdown();
      await running;
    };
    await tuned.take('alone');
    await tuned.take('together');
    return tuned;
  }

  /** The duration of a load in milliseconds, from the start of its runs to the end of the last one. */
  async take(load: LoadName): Promise<number> {
    const { agent, runs, steps } = LOADS[load];
    const input = { agent, input: promptFor(steps), limits: { steps: steps + 1 } };
    const start = performance.now();
    await Promise.all(
      Array.from({ length: runs }, () =>
        this.#client.workflow.execute(AGENT_RUN, {
          workflowId: `tuning-${randomUUID()}`,
          taskQueue: this.#taskQueue,
          args: [input],
          ...(this.#eagerStart ? { requestEagerStart: true } : {}),
        }),
      ),
    );
    return performance.now() - start;
  }

  async stop(): Promise<void> {
    await this.#stop();
  }
}
