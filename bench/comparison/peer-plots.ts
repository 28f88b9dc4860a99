import type { PhaseName } from './peer-phases.ts';
import type { PhaseSamples, Sample } from './peer-samples.ts';
import { PEER_SIDES, SIDE_NAMES } from './peer-sides.ts';
import { linearScale, logScale } from '../figures/plot-scale.ts';
import { type Axis, type Plot, type Series, svgPlot } from '../figures/plot.ts';
import { median } from '../figures/statistics.ts';

const KIB = 1_024;
const UNITS = ['B', 'kB', 'MB', 'GB'];
/** The limit where the server terminates a run. */
const HISTORY_LIMIT = 50 * KIB * KIB;
/** The number of neighbouring steps for a median: single steps vary with other load of the machine. */
const SMOOTHED_OVER = 9;
const TICKS = 5;

/** History bytes by step, on a logarithmic scale, as SVG. */
export function historyPlot(measured: readonly PhaseSamples[]): string {
  const { phase, series } = linesOf(measured, 'long results', storedByStep);
  const values = valuesOf(series);
  return svgPlot({
    title: 'History of a run by step',
    subtitle: `Tool results of ${phase.resultChars.toLocaleString('en-US')} characters; bytes as the server stores them, on a logarithmic scale`,
    x: stepAxis(phase.steps),
    y: { label: 'history bytes', scale: logScale(Math.min(...values), Math.max(...values, HISTORY_LIMIT)), format: shortBytes },
    series,
    level: { y: HISTORY_LIMIT, label: 'the server kills the run: 50 MiB' },
  });
}

/** Milliseconds per call by step, as SVG. */
export function latencyPlot(measured: readonly PhaseSamples[]): string {
  const { phase, series } = linesOf(measured, 'long results', timeByStep);
  return svgPlot({
    title: 'Time of a call by step',
    subtitle: `Tool results of ${phase.resultChars.toLocaleString('en-US')} characters, one run at a time, a model that takes no time; running median of ${SMOOTHED_OVER} steps`,
    x: stepAxis(phase.steps),
    y: { label: 'milliseconds per call', scale: linearScale(Math.max(...valuesOf(series)), TICKS), format: String },
    series,
  });
}

function linesOf(
  measured: readonly PhaseSamples[],
  name: PhaseName,
  values: (samples: readonly Sample[]) => number[],
): Pick<Plot, 'series'> & Pick<PhaseSamples, 'phase'> {
  const found = measured.find(({ phase }) => phase.name === name);
  if (found === undefined) throw new RangeError(`"${name}" was not measured`);
  const series = SIDE_NAMES.flatMap((side): Series[] => {
    const samples = found.samples[side];
    if (samples === undefined) return [];
    const { label, color } = PEER_SIDES[side];
    const killed = samples.map(({ ending }) => ending).find((ending) => ending.type === 'killed');
    const points = values(samples).map((y, index) => ({ x: index + 1, y }));
    return [{ label, color, points, ...(killed === undefined ? {} : { end: `killed at step ${killed.step}` }) }];
  });
  return { phase: found.phase, series };
}

/** Bytes up to the end of each step, of the first round, because they are reproducible. */
function storedByStep([first]: readonly Sample[]): number[] {
  if (first?.history === undefined) return [];
  let bytes = first.history.bytesBefore;
  return first.history.stepBytes.map((step) => (bytes += step));
}

/** The median of the rounds for each step, smoothed. */
function timeByStep(samples: readonly Sample[]): number[] {
  const steps = Math.min(...samples.map(({ stepMs }) => stepMs.length));
  return smoothed(Array.from({ length: steps }, (_, step) => median(samples.map(({ stepMs }) => stepMs[step] ?? 0))));
}

/** The running median: each value becomes the median of its neighbours. At both ends there are fewer neighbours. */
export function smoothed(values: readonly number[]): number[] {
  const reach = Math.floor(SMOOTHED_OVER / 2);
  return values.map((_, index) => median(values.slice(Math.max(0, index - reach), index + reach + 1)));
}

function valuesOf(series: readonly Series[]): number[] {
  return series.flatMap(({ points }) => points.map(({ y }) => y));
}

function stepAxis(steps: number): Axis {
  return { label: 'step', scale: linearScale(steps, TICKS), format: String };
}

/** A power of ten of bytes, in short form: `10 kB`. */
export function shortBytes(value: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  return `${Math.round(value / 1_000 ** unit)} ${UNITS[unit] ?? ''}`;
}
