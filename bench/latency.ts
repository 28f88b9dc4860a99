import { randomUUID } from 'node:crypto';
import { EDGE_STEPS } from './encoded-history.ts';
import type { BenchOptions } from './options.ts';
import type { Side } from './side.ts';
import { mean, median, percentile, rounded } from './statistics.ts';
import type { Surroundings } from './surroundings.ts';

type LatencyOptions = Extract<BenchOptions, { command: 'latency' }>;

/** How long calls take, in milliseconds from the start of one to the start of the next, but for the mean. */
export interface LatencyFigures {
  /** Time of a run, from its start by the client to its result, over its calls. */
  msPerCallMean: number;
  msPerCallP50: number;
  msPerCallP95: number;
  /** The median step among the first and among the last 20 of each run, over its two calls. */
  msPerCallFirst20: number;
  msPerCallLast20: number;
  /** Of all runs together. */
  callsPerSecond: number;
  /** From the start of a model call to the start of the tool call behind it, and the other way round. */
  msModelCallP50: number;
  msToolCallP50: number;
}

/** One run: its time from start to result, and the times between the starts of its calls. */
export interface TimedRun {
  ms: number;
  gaps: number[];
}

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

/** Measures `runs` runs of each side in every round, the sides in turn, and takes medians over the rounds. */
export async function measureLatency(
  surroundings: Surroundings,
  options: LatencyOptions,
  say: (line: string) => void,
): Promise<{ longhaul: LatencyFigures; loop: LatencyFigures }> {
  const { longhaul, loop } = surroundings;
  for (const side of [longhaul, loop]) {
    for (let run = 0; run < WARM_UP_RUNS; run += 1) await timeRun(surroundings, side, Math.min(options.steps, WARM_UP_STEPS));
  }
  const rounds: Record<Side['name'], LatencyFigures[]> = { longhaul: [], loop: [] };
  for (let round = 1; round <= options.rounds; round += 1) {
    const measured = await measureRound(surroundings, options);
    for (const { name } of [longhaul, loop]) {
      const figures = roundFigures(measured[name].runs, measured[name].ms);
      rounds[name].push(figures);
      say(`round ${round} of ${options.rounds}, ${name}: p50 ${figures.msPerCallP50} ms, mean ${figures.msPerCallMean} ms per call`);
    }
  }
  return { longhaul: middle(rounds.longhaul), loop: middle(rounds.loop) };
}

/** The runs of one side in one round, and the time that its turns took together. */
interface SideRound {
  runs: TimedRun[];
  ms: number;
}

/**
 * The sides take turns of `concurrency` runs at once: turns are short, so that whatever else the machine does falls
 * on both. Whoever goes second finds the other's garbage and timers: each does so every other time.
 */
async function measureRound(
  surroundings: Surroundings,
  { steps, runs, concurrency }: LatencyOptions,
): Promise<Record<Side['name'], SideRound>> {
  const { longhaul, loop } = surroundings;
  const round: Record<Side['name'], SideRound> = { longhaul: { runs: [], ms: 0 }, loop: { runs: [], ms: 0 } };
  for (let done = 0, turn = 0; done < runs; done += concurrency, turn += 1) {
    const atOnce = Math.min(concurrency, runs - done);
    for (const side of turn % 2 === 0 ? [longhaul, loop] : [loop, longhaul]) {
      const start = performance.now();
      const timed = await Promise.all(Array.from({ length: atOnce }, () => timeRun(surroundings, side, steps)));
      round[side.name].ms += performance.now() - start;
      round[side.name].runs.push(...timed);
    }
  }
  return round;
}

async function timeRun({ clock }: Surroundings, side: Side, steps: number): Promise<TimedRun> {
  const runId = `latency-${side.name}-${randomUUID()}`;
  const start = performance.now();
  await side.run(runId, steps);
  const ms = performance.now() - start;
  const starts = clock.take(runId);
  const calls = callsOf(steps);
  if (starts.length !== calls) throw new Error(`Run "${runId}" made ${starts.length} calls, not ${calls}: one was repeated or left out`);
  return { ms, gaps: gapsBetween(starts) };
}

/** The times between the starts of a run's calls. */
export function gapsBetween(starts: readonly number[]): number[] {
  return starts.slice(1).map((time, index) => time - (starts[index] ?? time));
}

/** A model call and a tool call for each step, and the model call that gives the final answer. */
export function callsOf(steps: number): number {
  return 2 * steps + 1;
}

/** The figures of one round, from its runs and the time that they took together. */
export function roundFigures(runs: readonly TimedRun[], totalMs: number): LatencyFigures {
  const calls = (run: TimedRun): number => run.gaps.length + 1;
  const gaps = runs.flatMap((run) => run.gaps);
  const steps = runs.map(stepTimes);
  return {
    msPerCallMean: rounded(mean(runs.map((run) => run.ms / calls(run))), 2),
    msPerCallP50: rounded(percentile(gaps, 50), 2),
    msPerCallP95: rounded(percentile(gaps, 95), 2),
    msPerCallFirst20: rounded(median(steps.flatMap((run) => run.slice(0, EDGE_STEPS))), 2),
    msPerCallLast20: rounded(median(steps.flatMap((run) => run.slice(-EDGE_STEPS))), 2),
    callsPerSecond: rounded((runs.reduce((sum, run) => sum + calls(run), 0) / totalMs) * 1_000, 1),
    msModelCallP50: rounded(percentile(everySecond(runs, 0), 50), 2),
    msToolCallP50: rounded(percentile(everySecond(runs, 1), 50), 2),
  };
}

/** A step is two gaps, its model call's and its tool call's: their mean, so that the two kinds do not mix in a median. */
export function stepTimes({ gaps }: TimedRun): number[] {
  return Array.from({ length: Math.floor(gaps.length / 2) }, (_, step) => mean(gaps.slice(2 * step, 2 * step + 2)));
}

function everySecond(runs: readonly TimedRun[], from: 0 | 1): number[] {
  return runs.flatMap(({ gaps }) => gaps.filter((_, index) => index % 2 === from));
}

/** The median of each figure over the rounds. */
export function middle(rounds: readonly LatencyFigures[]): LatencyFigures {
  const value = (key: keyof LatencyFigures): number => median(rounds.map((round) => round[key]));
  return {
    msPerCallMean: value('msPerCallMean'),
    msPerCallP50: value('msPerCallP50'),
    msPerCallP95: value('msPerCallP95'),
    msPerCallFirst20: value('msPerCallFirst20'),
    msPerCallLast20: value('msPerCallLast20'),
    callsPerSecond: value('callsPerSecond'),
    msModelCallP50: value('msModelCallP50'),
    msToolCallP50: value('msToolCallP50'),
  };
}
