import { randomUUID } from 'node:crypto';
import { EDGE_STEPS } from './figures/encoded-history.ts';
import { inTurn, type Side } from './sides/side.ts';
import type { AfterCalls } from './local/command-clock.ts';
import type { LatencyOptions } from './options.ts';
import { mean, median, percentile, rounded } from './figures/statistics.ts';
import type { Surroundings } from './sides/surroundings.ts';

/** The durations of calls, in milliseconds from the start of one to the start of the next, except for the mean. */
export interface LatencyFigures {
  /** Duration of a run, from its start by the client to its result, divided by its calls. */
  msPerCallMean: number;
  msPerCallP50: number;
  msPerCallP95: number;
  /** The median step among the first and among the last 20 of each run, over its two calls. */
  msPerCallFirst20: number;
  msPerCallLast20: number;
  /** Over all runs. */
  callsPerSecond: number;
  /** From the start of a model call to the start of the tool call after it, and from the tool call to the next model call. */
  msModelCallP50: number;
  msToolCallP50: number;
  /** A step: a model call and its tool call. */
  msPerStepP50: number;
  /**
   * From the start of a tool call to the next command of its run, and to the next call if that is a tool call too. Undefined if
   * it is not measured.
   */
  msToNextCommandP50?: number;
  msToNextCallP50?: number;
}

type LocalFigure = 'msToNextCommandP50' | 'msToNextCallP50';

/** One run: its duration from start to result, and the times between the starts of its calls. */
export interface TimedRun {
  ms: number;
  gaps: number[];
  /** Undefined if it is not measured. */
  afterCalls?: AfterCalls;
}

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

/** Measures `runs` runs of each side in every round, the sides in turn, and takes medians over the rounds. By name of the side. */
export async function measureLatency(
  surroundings: Surroundings,
  options: LatencyOptions,
  say: (line: string) => void,
): Promise<Map<Side['name'], LatencyFigures>> {
  const { sides } = surroundings;
  for (const side of sides) {
    for (let run = 0; run < WARM_UP_RUNS; run += 1) await timeRun(surroundings, side, Math.min(options.steps, WARM_UP_STEPS));
  }
  const rounds = new Map<Side['name'], LatencyFigures[]>(sides.map(({ name }) => [name, []]));
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [name, { runs, ms }] of await measureRound(surroundings, options)) {
      const figures = roundFigures(runs, ms);
      rounds.get(name)?.push(figures);
      say(`round ${round} of ${options.rounds}, ${name}: p50 ${figures.msPerCallP50} ms, mean ${figures.msPerCallMean} ms per call`);
    }
  }
  return new Map([...rounds].map(([name, figures]) => [name, middle(figures)]));
}

/** The runs of one side in one round, and the duration of its turns together. */
interface SideRound {
  runs: TimedRun[];
  ms: number;
}

/**
 * The sides take turns of `concurrency` runs at once. Turns are short, so that other load of the machine falls on all sides. A
 * side runs with the garbage and timers of the one before: each turn begins with another side.
 */
async function measureRound(
  surroundings: Surroundings,
  { steps, runs, concurrency }: LatencyOptions,
): Promise<Map<Side['name'], SideRound>> {
  const { sides } = surroundings;
  const round = new Map<Side['name'], SideRound>(sides.map(({ name }) => [name, { runs: [], ms: 0 }]));
  for (let done = 0, turn = 1; done < runs; done += concurrency, turn += 1) {
    const atOnce = Math.min(concurrency, runs - done);
    for (const side of inTurn(sides, turn)) {
      const start = performance.now();
      const timed = await Promise.all(Array.from({ length: atOnce }, () => timeRun(surroundings, side, steps)));
      const measured = round.get(side.name);
      if (measured === undefined) continue;
      measured.ms += performance.now() - start;
      measured.runs.push(...timed);
    }
  }
  return round;
}

async function timeRun({ clock, commands }: Surroundings, side: Side, steps: number): Promise<TimedRun> {
  const runId = `latency-${side.name}-${randomUUID()}`;
  const start = performance.now();
  await side.run(runId, steps);
  const ms = performance.now() - start;
  const starts = clock.take(runId);
  const calls = side.calls(steps);
  if (starts.length !== calls) throw new Error(`Run "${runId}" made ${starts.length} calls, not ${calls}: one was repeated or left out`);
  const afterCalls = commands?.take(runId, side.toolActivity);
  return { ms, gaps: gapsBetween(starts), ...(afterCalls === undefined ? {} : { afterCalls }) };
}

/** The times between the starts of a run's calls. */
export function gapsBetween(starts: readonly number[]): number[] {
  return starts.slice(1).map((time, index) => time - (starts[index] ?? time));
}

/** The figures of one round, from its runs and their duration together. */
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
    msPerStepP50: rounded(2 * percentile(steps.flat(), 50), 2),
    ...ifAny(
      'msToNextCommandP50',
      runs.flatMap(({ afterCalls }) => afterCalls?.toNextCommand ?? []),
    ),
    ...ifAny(
      'msToNextCallP50',
      runs.flatMap(({ afterCalls }) => afterCalls?.toNextCall ?? []),
    ),
  };
}

/** The median of values under a name; or undefined. */
function ifAny(name: LocalFigure, values: readonly number[]): Partial<Record<LocalFigure, number>> {
  return values.length === 0 ? {} : { [name]: rounded(median(values), 3) };
}

/** A step is two gaps, of its model call and of its tool call: the mean of both, so that the two kinds do not mix in a median. */
export function stepTimes({ gaps }: TimedRun): number[] {
  return Array.from({ length: Math.floor(gaps.length / 2) }, (_, step) => mean(gaps.slice(2 * step, 2 * step + 2)));
}

function everySecond(runs: readonly TimedRun[], from: 0 | 1): number[] {
  return runs.flatMap(({ gaps }) => gaps.filter((_, index) => index % 2 === from));
}

/** The median of each figure over the rounds. */
export function middle(rounds: readonly LatencyFigures[]): LatencyFigures {
  const value = (key: Exclude<keyof LatencyFigures, LocalFigure>): number => median(rounds.map((round) => round[key]));
  const local = (name: LocalFigure): Partial<LatencyFigures> =>
    ifAny(
      name,
      rounds.flatMap((round) => round[name] ?? []),
    );
  return {
    msPerCallMean: value('msPerCallMean'),
    msPerCallP50: value('msPerCallP50'),
    msPerCallP95: value('msPerCallP95'),
    msPerCallFirst20: value('msPerCallFirst20'),
    msPerCallLast20: value('msPerCallLast20'),
    callsPerSecond: value('callsPerSecond'),
    msModelCallP50: value('msModelCallP50'),
    msToolCallP50: value('msToolCallP50'),
    msPerStepP50: value('msPerStepP50'),
    ...local('msToNextCommandP50'),
    ...local('msToNextCallP50'),
  };
}

/**
 * The figures of `latency` in the form of the report: Longhaul's, the loop's, and the comparison for a local tool. Throws a
 * RangeError without the first two.
 */
export function latencyReport(
  { tier, steps, runs, concurrency }: LatencyOptions,
  measured: ReadonlyMap<Side['name'], LatencyFigures>,
): object {
  const [longhaul, loop] = [measured.get('longhaul'), measured.get('loop')];
  if (longhaul === undefined || loop === undefined) throw new RangeError('Longhaul or the loop was not measured');
  const { msModelCallP50, msToolCallP50, ...figures } = longhaul;
  return { tier, steps, runs, concurrency, ...figures, loop, msModelCallP50, msToolCallP50, ...localFigures(longhaul, measured) };
}

function localFigures(longhaul: LatencyFigures, measured: ReadonlyMap<Side['name'], LatencyFigures>): object {
  const [remote, sequence, empty] = [measured.get('remote'), measured.get('sequence'), measured.get('empty')];
  if (remote === undefined || sequence === undefined || empty === undefined) return {};
  return {
    remote,
    localStepRatio: rounded(longhaul.msPerStepP50 / remote.msPerStepP50, 2),
    localCall: compared(sequence.msToNextCallP50, empty.msToNextCallP50),
    toNextCommand: compared(sequence.msToNextCommandP50, empty.msToNextCommandP50),
    toModelCommand: compared(longhaul.msToNextCommandP50, empty.msToNextCommandP50),
  };
}

/** A figure of a local tool next to the figure of an empty local activity. */
function compared(ms = NaN, emptyMs = NaN): object {
  return { ms, emptyMs, ratio: rounded(ms / emptyMs, 2) };
}
