import type { AtOnceFigures, BySide, StoredFigures, StoredVariant, TimedFigures } from './peer-figures.ts';
import { PLUGINS } from './peer-sides.ts';
import { rounded } from '../figures/statistics.ts';

/** A figure of Longhaul with its bound. */
export interface Bound {
  figure: string;
  value: number;
  /** The bound, for `atMost` or `atLeast`. */
  type: 'atMost' | 'atLeast';
  bound: number;
  met: boolean;
}

/** The figures from which bounds are computed. */
export interface BoundedFigures {
  history: BySide<StoredFigures>;
  variants: readonly StoredVariant[];
  latency: BySide<TimedFigures>;
  atOnce: BySide<AtOnceFigures>;
}

const MAX_AMPLIFICATION = 2.2;
const MAX_COMPRESSED = 1.6;
const MAX_LONGEST_COMPRESSED = 0.7;
const MAX_MS_OF_PLUGIN = 0.75;
const MAX_MS_OF_LOOP = 1.25;
const MAX_GROWTH = 1.1;
const MIN_THROUGHPUT_OF_PLUGIN = 2;
const MAX_CPU_OF_PLUGIN = 0.55;

/**
 * Longhaul's figures with their bounds, as far as the measured sides allow. The better plugin is the one with the better figure
 * of the two.
 */
export function boundsOf({ history, variants, latency, atOnce }: BoundedFigures): Bound[] {
  const [compressed, longest] = variants
    .filter(({ codec }) => codec === 'zstd')
    .toSorted((left, right) => left.resultChars - right.resultChars);
  const ms = latency.longhaul?.msPerCallP50;
  const together = atOnce.longhaul;
  const pluginMs = best(
    Math.min,
    PLUGINS.map((side) => latency[side]?.msPerCallP50),
  );
  const pluginRate = best(
    Math.max,
    PLUGINS.map((side) => atOnce[side]?.callsPerSecond),
  );
  const pluginCpu = best(
    Math.min,
    PLUGINS.map((side) => atOnce[side]?.cpuMsPerCall),
  );
  return [
    atMost('amplification', history.longhaul?.amplification, MAX_AMPLIFICATION),
    atMost('amplification, compressed', compressed?.amplification, MAX_COMPRESSED),
    atMost('amplification, results ten times as long, compressed', longest?.amplification, MAX_LONGEST_COMPRESSED),
    atMost('milliseconds per call, of the better plugin’s', ratio(ms, pluginMs), MAX_MS_OF_PLUGIN),
    atMost('milliseconds per call, of the loop’s by reference', ratio(ms, latency.loop?.msPerCallP50), MAX_MS_OF_LOOP),
    atMost('milliseconds per call, last 20 steps of the first 20', latency.longhaul?.growth, MAX_GROWTH),
    atLeast('calls per second at once, of the better plugin’s', ratio(together?.callsPerSecond, pluginRate), MIN_THROUGHPUT_OF_PLUGIN),
    atMost('worker CPU per call at once, of the better plugin’s', ratio(together?.cpuMsPerCall, pluginCpu), MAX_CPU_OF_PLUGIN),
  ].flat();
}

function best(choose: (...values: number[]) => number, values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : choose(...known);
}

function ratio(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : rounded(value / other, 2);
}

function atMost(figure: string, value: number | undefined, bound: number): Bound[] {
  return value === undefined ? [] : [{ figure, value, type: 'atMost', bound, met: value <= bound }];
}

function atLeast(figure: string, value: number | undefined, bound: number): Bound[] {
  return value === undefined ? [] : [{ figure, value, type: 'atLeast', bound, met: value >= bound }];
}
