import type { LonghaulClient } from '../../src/client/index.ts';
import { median, rounded } from '../figures/statistics.ts';
import { completed, readTokens, startScript } from './stream-run.ts';

/** The three ways a step is timed: without a sink, with one and no readers, and with one reader of each run. */
const WAYS = ['without', 'idle', 'read'] as const;

type Way = (typeof WAYS)[number];

/** The runs whose steps are timed. */
export interface TimedRuns {
  /** Number of runs at the same time. */
  runs: number;
  steps: number;
  rounds: number;
  /** Tokens in a second; 0: without a pause. */
  rate: number;
}

/** The milliseconds of a step, and those with a sink divided by those without. */
export interface StepRatios {
  msPerStep: Record<Way, number>;
  stepRatioIdle: number;
  stepRatioRead: number;
}

/** Tokens of each answer. */
const TOKENS = 20;

/** Times the steps of runs in all ways, in turns. */
export async function measureSteps(client: LonghaulClient, timed: TimedRuns, say: (line: string) => void): Promise<StepRatios> {
  const times: Record<Way, number[]> = { without: [], idle: [], read: [] };
  for (let round = -1; round < timed.rounds; round += 1) {
    // Each way comes first as often as the others.
    const first = (round + WAYS.length) % WAYS.length;
    for (const way of [...WAYS.slice(first), ...WAYS.slice(0, first)]) {
      const ms = await timeRuns(client, way, `steps-${timed.rate}-${way}-${round}`, timed);
      // The first round warms the workers up.
      if (round >= 0) times[way].push(...ms);
    }
  }
  const [without, idle, read] = [median(times.without), median(times.idle), median(times.read)];
  const pace = timed.rate === 0 ? 'without a pause between tokens' : `at ${timed.rate} tokens/s`;
  say(`${pace}, a step takes ${without.toFixed(1)} ms without a sink, ${idle.toFixed(1)} ms with one, ${read.toFixed(1)} ms if it is read`);
  return {
    msPerStep: { without: rounded(without, 1), idle: rounded(idle, 1), read: rounded(read, 1) },
    stepRatioIdle: rounded(idle / without, 3),
    stepRatioRead: rounded(read / without, 3),
  };
}

async function timeRuns(client: LonghaulClient, way: Way, name: string, { runs, steps, rate }: TimedRuns): Promise<number[]> {
  return Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const phaseMs = rate === 0 ? 0 : (index * 1_000) / rate / runs;
      const begun = performance.now();
      const run = await startScript(
        client,
        `${name}-${index}`,
        { steps, tokens: TOKENS, rate, phaseMs },
        way === 'without' ? 'without' : 'with',
      );
      const reading = way === 'read' ? readTokens(run) : undefined;
      await completed(run);
      const ms = (performance.now() - begun) / steps;
      await reading;
      return ms;
    }),
  );
}
