import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { connect } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/dev-server.ts';
import { inTurn } from './sides/side.ts';
import { describeMachine } from './figures/machine.ts';
import type { TuningCommand } from './options.ts';
import { median, rounded } from './figures/statistics.ts';
import { bundleToFile } from '../test/processes/workflow-bundle.ts';
import { type CreateWorkerOptions, createWorker } from '../worker/index.ts';
import { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { AGENT_RUN } from '../src/core/protocol.ts';
import { readerAgent } from './sides/reader-agent.ts';
import { promptFor } from './script/scripted-run.ts';
import { sequenceModel } from './script/scripted-models.ts';

type Say = (line: string) => void;

/** The duration of a load with an option divided by its duration without, in the same round. */
interface TuningRatio {
  median: number;
  least: number;
  most: number;
}

type TunedRatios = Record<LoadName, TuningRatio>;

/**
 * Measures options of a worker one by one, each against a worker with the defaults, in rounds where the two take turns. Returns the object
 * of the last line.
 */
export async function measureTuning({ rounds, only }: TuningCommand, say: Say): Promise<object> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter: 'ERROR' } } });
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const bundle = await bundleToFile();
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  const client = await connect({ address, namespace });
  const stage = { connection, client: client.temporal, namespace, bundlePath: bundle.path };
  const measured: Record<string, TunedRatios> = {};
  try {
    for (const option of TUNING_OPTIONS.filter(({ name }) => name.includes(only))) {
      measured[option.name] = await measureOption(stage, option, rounds);
      say(tableLine(option.name, measured[option.name]));
    }
    const machine = { ...(await describeMachine(client.temporal)), modelClient: 'a function' };
    return { rounds, loads: LOADS, options: measured, machine };
  } finally {
    await client.close();
    await connection.close();
    await bundle.remove();
    await server.stop();
  }
}

async function measureOption(stage: TuningStage, option: TuningOption, rounds: number): Promise<TunedRatios> {
  const plain = await TunedWorker.start(stage, { name: '' });
  const tuned = await TunedWorker.start(stage, option);
  const ratios: Record<LoadName, number[]> = { alone: [], together: [], waiting: [] };
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (const load of Object.keys(LOADS) as LoadName[]) {
        const taken = new Map([plain, tuned].map((worker) => [worker, 0]));
        for (let turn = 0; turn < LOADS[load].times; turn += 1) {
          for (const worker of inTurn([plain, tuned], round + turn))
            taken.set(worker, (taken.get(worker) ?? 0) + (await worker.take(load)));
        }
        ratios[load].push((taken.get(tuned) ?? NaN) / (taken.get(plain) ?? NaN));
      }
    }
  } finally {
    await Promise.all([plain.stop(), tuned.stop()]);
  }
  return { alone: ratioOf(ratios.alone), together: ratioOf(ratios.together), waiting: ratioOf(ratios.waiting) };
}

/** The median of ratios, and their range. */
function ratioOf(ratios: readonly number[]): TuningRatio {
  return { median: rounded(median(ratios), 2), least: rounded(Math.min(...ratios), 2), most: rounded(Math.max(...ratios), 2) };
}

/** One line of the table in Markdown. */
function tableLine(name: string, ratios: TunedRatios | undefined): string {
  const cells = Object.values(ratios ?? {}).map((ratio) => `${ratio.median} (${ratio.least} to ${ratio.most})`);
  return `| ${[name, ...cells].join(' | ')} |`;
}

/** One way to tune a worker that otherwise has the defaults. */
interface TuningOption {
  /** The name in the table. */
  name: string;
  worker?: NonNullable<CreateWorkerOptions['worker']>;
  /** Runs are started through the worker's own connection, and the answer may include the first task. */
  eagerStart?: true;
}

const autoscaling = { type: 'autoscaling' } as const;

/** The options that `tuning` measures: every option of a Temporal worker that could lower latency or raise throughput. */
const TUNING_OPTIONS: readonly TuningOption[] = [
  { name: 'nothing (the noise)' },
  { name: 'maxConcurrentActivityTaskExecutions: 100', worker: { maxConcurrentActivityTaskExecutions: 100 } },
  { name: 'maxConcurrentLocalActivityExecutions: 100', worker: { maxConcurrentLocalActivityExecutions: 100 } },
  { name: 'maxConcurrentWorkflowTaskExecutions: 40', worker: { maxConcurrentWorkflowTaskExecutions: 40 } },
  { name: '2 pollers each', worker: { maxConcurrentWorkflowTaskPolls: 2, maxConcurrentActivityTaskPolls: 2 } },
  { name: '40 pollers each', worker: { maxConcurrentWorkflowTaskPolls: 40, maxConcurrentActivityTaskPolls: 40 } },
  { name: 'pollers: autoscaling', worker: { workflowTaskPollerBehavior: autoscaling, activityTaskPollerBehavior: autoscaling } },
  { name: 'maxCachedWorkflows: 20', worker: { maxCachedWorkflows: 20 } },
  { name: 'maxEagerActivityReservationsPerWorkflowTask: 0', worker: { maxEagerActivityReservationsPerWorkflowTask: 0 } },
  { name: 'maxEagerActivityReservationsPerWorkflowTask: 20', worker: { maxEagerActivityReservationsPerWorkflowTask: 20 } },
  { name: 'reuseV8Context: false', worker: { reuseV8Context: false } },
  { name: 'workflowThreadPoolSize: 2', worker: { workflowThreadPoolSize: 2 } },
  { name: 'stickyQueueScheduleToStartTimeout: 1s', worker: { stickyQueueScheduleToStartTimeout: '1s' } },
  {
    name: 'tuner: resource-based, 80 % memory, 90 % CPU',
    worker: { tuner: { tunerOptions: { targetMemoryUsage: 0.8, targetCpuUsage: 0.9 } } },
  },
  { name: 'eager start of runs', eagerStart: true },
];

const RESULT_CHARS = 200;
const THINKS_MS = 3_000;
const READS_MS = 200;

/** The runs that a worker gets, and the number of times in a round. */
const LOADS = {
  /** One run, with a model without delay: latency. */
  alone: { agent: 'reader', runs: 1, steps: 20, times: 5 },
  /** As many runs as keep the machine busy: throughput. */
  together: { agent: 'reader', runs: 20, steps: 5, times: 2 },
  /** Many runs that mostly wait for a model, and then for a local tool: the number that a worker can hold at the same time. */
  waiting: { agent: 'waiter', runs: 150, steps: 1, times: 1 },
} as const;

/** One of `LOADS`. */
type LoadName = keyof typeof LOADS;

/** The environment of the workers. */
interface TuningStage {
  connection: NativeConnection;
  client: Client;
  namespace: string;
  bundlePath: string;
}

/** A worker with an option, and with a separate task queue. */
class TunedWorker {
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
