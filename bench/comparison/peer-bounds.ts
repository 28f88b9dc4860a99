import type { BySide, Range, StoredFigures, StoredVariant } from './peer-figures.ts';
import type { PhaseSamples, Sample } from './peer-samples.ts';
import { PLUGINS, type SideName } from './peer-sides.ts';
import { median, rounded } from '../figures/statistics.ts';

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
export interface BoundedFigures {
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
export function boundsOf({ history, variants, alone, together }: BoundedFigures): Bound[] {
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
