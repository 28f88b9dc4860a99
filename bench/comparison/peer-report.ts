import { type LatencyFigures, middle } from '../latency.ts';
import type { Ending, PhaseName, PhaseSamples, Sample } from './peer-phases.ts';
import { type SideName, SIDE_NAMES, PLUGINS } from './peer-sides.ts';
import type { Codec } from '../sides/side.ts';
import { type StoredHistory, edges } from '../figures/encoded-history.ts';
import type { Machine } from '../figures/machine.ts';
import { contentBytes } from '../script/scripted-run.ts';
import { median, rounded, sum } from '../figures/statistics.ts';

/** Figures of the sides that were measured. */
type BySide<Figures> = Partial<Record<SideName, Figures>>;

/** The size of a run's history: medians over the rounds. */
export interface StoredFigures {
  ending: Ending;
  /** Executions of the chain: more than one if the run continued as new. */
  executions: number;
  events: number;
  historyBytes: number;
  contentBytes: number;
  amplification: number;
  bytesPerStepFirst20: number;
  bytesPerStepLast20: number;
}

/** Longhaul's history with a codec, or with longer results. */
interface StoredVariant extends StoredFigures {
  resultChars: number;
  codec: Codec;
}

/** The lowest and the highest value of the rounds. */
export type Range = [low: number, high: number];

/** The durations of the calls of a single run: medians over the rounds. */
export interface TimedFigures extends LatencyFigures {
  ending: Ending;
  /** The lowest and highest `msPerCallP50`. */
  msPerCallRange: Range;
  /** The ratio of the last 20 steps to the first 20. */
  growth: number;
  cpuMsPerCall: number;
}

/** Many runs at once. */
interface AtOnceFigures {
  callsPerSecond: number;
  callsPerSecondRange: Range;
  /** CPU time of the side's process per call. */
  cpuMsPerCall: number;
}

/** All figures of `peers`. */
export interface PeersReport {
  steps: number;
  resultChars: number;
  shortResultChars: number;
  atOnceSteps: number;
  atOnceRuns: number;
  rounds: number;
  codec: Codec;
  history: BySide<StoredFigures>;
  variants: StoredVariant[];
  latency: BySide<TimedFigures>;
  shortLatency: BySide<TimedFigures>;
  atOnce: BySide<AtOnceFigures>;
  bounds: Bound[];
  /** Attempts of activities beyond the first, over all sides and set-ups. */
  retries: number;
  machine: Machine;
}

const VARIANTS: readonly PhaseName[] = ['compressed', 'longest results', 'longest compressed'];

/** Computes the figures from the samples. Throws a RangeError if a set-up is missing that every command measures. */
export function reportOf(measured: readonly PhaseSamples[]): PeersReport {
  const [long, short, together] = [named(measured, 'long results'), named(measured, 'short results'), named(measured, 'at once')];
  const figures = {
    history: perSide(long, (samples) => storedFigures(samples, long.phase.resultChars)),
    variants: measured.filter(({ phase }) => VARIANTS.includes(phase.name)).flatMap(variant),
    latency: perSide(long, timedFigures),
    shortLatency: perSide(short, timedFigures),
    atOnce: perSide(together, atOnceFigures),
  };
  const { steps, resultChars, rounds, codec } = long.phase;
  return {
    steps,
    resultChars,
    shortResultChars: short.phase.resultChars,
    atOnceSteps: together.phase.steps,
    atOnceRuns: together.phase.atOnce,
    rounds,
    codec,
    ...figures,
    bounds: boundsOf({ ...figures, alone: long, together }),
    retries: sum(measured.flatMap(({ retries }) => Object.values(retries))),
    machine: long.machine,
  };
}

function named(measured: readonly PhaseSamples[], name: PhaseName): PhaseSamples {
  const found = measured.find(({ phase }) => phase.name === name);
  if (found === undefined) throw new RangeError(`"${name}" was not measured`);
  return found;
}

function perSide<Figures>({ samples }: PhaseSamples, figures: (samples: readonly Sample[]) => Figures): BySide<Figures> {
  return Object.fromEntries(SIDE_NAMES.flatMap((side) => (samples[side] === undefined ? [] : [[side, figures(samples[side])]])));
}

function storedFigures(samples: readonly Sample[], resultChars: number): StoredFigures {
  const histories = samples.flatMap(({ history }) => history ?? []);
  const middleOf = (value: (history: StoredHistory) => number): number => median(histories.map(value));
  const historyBytes = middleOf(({ bytes }) => bytes);
  // For a run that was terminated: the content of the steps that it finished.
  const content = contentBytes(
    middleOf(({ stepBytes }) => stepBytes.length),
    resultChars,
  );
  return {
    ending: endingOf(samples),
    executions: middleOf(({ executions }) => executions),
    events: middleOf(({ events }) => events),
    historyBytes,
    contentBytes: content,
    amplification: rounded(historyBytes / content, 3),
    bytesPerStepFirst20: Math.round(middleOf(({ stepBytes }) => edges(stepBytes).first20)),
    bytesPerStepLast20: Math.round(middleOf(({ stepBytes }) => edges(stepBytes).last20)),
  };
}

function variant({ phase: { resultChars, codec }, samples }: PhaseSamples): StoredVariant[] {
  return samples.longhaul === undefined ? [] : [{ resultChars, codec, ...storedFigures(samples.longhaul, resultChars) }];
}

function timedFigures(samples: readonly Sample[]): TimedFigures {
  const figures = middle(samples.map(({ latency }) => latency));
  return {
    ...figures,
    ending: endingOf(samples),
    msPerCallRange: rangeOf(samples.map(({ latency }) => latency.msPerCallP50)),
    growth: rounded(figures.msPerCallLast20 / figures.msPerCallFirst20, 2),
    cpuMsPerCall: rounded(median(samples.map(({ cpuMsPerCall }) => cpuMsPerCall)), 2),
  };
}

function atOnceFigures(samples: readonly Sample[]): AtOnceFigures {
  const rates = samples.map(({ latency }) => latency.callsPerSecond);
  return {
    callsPerSecond: median(rates),
    callsPerSecondRange: rangeOf(rates),
    cpuMsPerCall: rounded(median(samples.map(({ cpuMsPerCall }) => cpuMsPerCall)), 2),
  };
}

function rangeOf(values: readonly number[]): Range {
  return [Math.min(...values), Math.max(...values)];
}

function endingOf(samples: readonly Sample[]): Ending {
  return samples.find(({ ending }) => ending.type === 'killed')?.ending ?? { type: 'completed' };
}

/** A figure of Longhaul with its bound. */
export interface Bound {
  figure: string;
  value: number;
  /** The lowest and the highest ratio of the rounds, for a figure of time. */
  range?: Range;
  /** The bound, for `atMost` or `atLeast`. */
  type: 'atMost' | 'atLeast';
  bound: number;
  met: boolean;
}

/** The figures that bounds are computed from. */
interface BoundedFigures {
  history: BySide<StoredFigures>;
  variants: readonly StoredVariant[];
  /** One run at a time. */
  alone: PhaseSamples;
  together: PhaseSamples;
}

const MAX_AMPLIFICATION = 2.2;
const MAX_COMPRESSED = 1.6;
const MAX_LONGEST_COMPRESSED = 0.7;
const MAX_MS_OF_PLUGIN = 0.75;
const MAX_MS_OF_LOOP = 1.25;
const MAX_GROWTH = 1.1;
const MIN_THROUGHPUT_OF_PLUGIN = 2;
const MAX_CPU_OF_PLUGIN = 0.55;
const MAX_CPU_OF_LOOP = 1.2;

/**
 * Longhaul's figures with their bounds, as far as the measured sides allow. Times are compared within the same round, because a machine is
 * not equally fast in all rounds; the value is the median of these ratios. The better plugin is the one with the better figure of the two.
 */
function boundsOf({ history, variants, alone, together }: BoundedFigures): Bound[] {
  const [compressed, longest] = variants
    .filter(({ codec }) => codec === 'zstd')
    .toSorted((left, right) => left.resultChars - right.resultChars);
  const growth = alone.samples.longhaul?.map(({ latency }) => latency.msPerCallLast20 / latency.msPerCallFirst20);
  return [
    ...stored('amplification', history.longhaul?.amplification, MAX_AMPLIFICATION),
    ...stored('amplification, compressed', compressed?.amplification, MAX_COMPRESSED),
    ...stored('amplification, results ten times as long, compressed', longest?.amplification, MAX_LONGEST_COMPRESSED),
    ...timed('milliseconds per call, of the better plugin’s', ratios(alone, msPerCall, PLUGINS, Math.min), 'atMost', MAX_MS_OF_PLUGIN),
    ...timed('milliseconds per call, of the loop’s by reference', ratios(alone, msPerCall, ['loop'], Math.min), 'atMost', MAX_MS_OF_LOOP),
    ...timed('milliseconds per call, last 20 steps of the first 20', growth, 'atMost', MAX_GROWTH),
    ...timed(
      'calls per second at once, of the better plugin’s',
      ratios(together, callsPerSecond, PLUGINS, Math.max),
      'atLeast',
      MIN_THROUGHPUT_OF_PLUGIN,
    ),
    ...timed(
      'worker CPU per call at once, of the better plugin’s',
      ratios(together, cpuPerCall, PLUGINS, Math.min),
      'atMost',
      MAX_CPU_OF_PLUGIN,
    ),
    ...timed(
      'worker CPU per call at once, of the loop’s by reference',
      ratios(together, cpuPerCall, ['loop'], Math.min),
      'atMost',
      MAX_CPU_OF_LOOP,
    ),
  ];
}

const msPerCall = ({ latency }: Sample): number => latency.msPerCallP50;
const callsPerSecond = ({ latency }: Sample): number => latency.callsPerSecond;
const cpuPerCall = ({ cpuMsPerCall }: Sample): number => cpuMsPerCall;

/** Longhaul's figure of each round divided by the best other figure of the same round; undefined if one of them was not measured. */
function ratios(
  { samples }: PhaseSamples,
  figure: (sample: Sample) => number,
  others: readonly SideName[],
  best: (...values: number[]) => number,
): number[] | undefined {
  const own = samples.longhaul?.map(figure);
  const theirs = others.flatMap((side) => (samples[side] === undefined ? [] : [samples[side].map(figure)]));
  if (own === undefined || theirs.length === 0) return undefined;
  return own.map((value, round) => value / best(...theirs.flatMap((values) => values[round] ?? [])));
}

function stored(figure: string, value: number | undefined, bound: number): Bound[] {
  return value === undefined ? [] : [{ figure, value, type: 'atMost', bound, met: value <= bound }];
}

function timed(figure: string, values: readonly number[] | undefined, type: Bound['type'], bound: number): Bound[] {
  if (values === undefined) return [];
  const value = rounded(median(values), 2);
  const range: Range = [rounded(Math.min(...values), 2), rounded(Math.max(...values), 2)];
  return [{ figure, value, range, type, bound, met: type === 'atMost' ? value <= bound : value >= bound }];
}
