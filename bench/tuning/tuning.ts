import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { connect } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { inTurn } from '../sides/side.ts';
import { describeMachine } from '../figures/machine.ts';
import type { TuningCommand } from '../options.ts';
import { median, rounded } from '../figures/statistics.ts';
import { type LoadName, LOADS, TunedWorker, type TuningStage } from './tuned-worker.ts';
import { type TuningOption, TUNING_OPTIONS } from './tuning-options.ts';
import { bundleToFile } from '../../test/processes/workflow-bundle.ts';

type Say = (line: string) => void;

/** The duration of a load with an option divided by its duration without, in the same round. */
export interface TuningRatio {
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
export function ratioOf(ratios: readonly number[]): TuningRatio {
  return { median: rounded(median(ratios), 2), least: rounded(Math.min(...ratios), 2), most: rounded(Math.max(...ratios), 2) };
}

/** One line of the table in Markdown. */
export function tableLine(name: string, ratios: TunedRatios | undefined): string {
  const cells = Object.values(ratios ?? {}).map((ratio) => `${ratio.median} (${ratio.least} to ${ratio.most})`);
  return `| ${[name, ...cells].join(' | ')} |`;
}
