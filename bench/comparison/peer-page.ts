import type { Bound, Range, StoredFigures, TimedFigures, PeersReport } from './peer-report.ts';
import type { Ending, PhaseName, PhaseSamples, Sample } from './peer-phases.ts';
import { PEER_SIDES, SIDE_NAMES, type SideName } from './peer-sides.ts';
import { linearScale, logScale, type Axis, type Plot, type Series, svgPlot } from '../figures/plot.ts';
import { median } from '../figures/statistics.ts';

/** The page that `peers` writes: its figures as Markdown, with the two plots. */
export function peerTable(report: PeersReport): string {
  const chars = count(report.resultChars);
  return `${[
    '# Longhaul compared with other loops on Temporal',
    intro(report),
    '## What a run stores',
    `${count(report.steps)} steps, tool results of ${chars} characters.`,
    storedTable(report),
    '![History bytes by step](peers-history.svg)',
    ...(report.variants.length === 0
      ? []
      : [`Longhaul again, with compression of every payload that gets smaller, and with longer results:`, variantTable(report)]),
    '## How long a call takes',
    `One run at a time, ${count(report.steps)} steps; milliseconds from the start of a call to the start of the next.`,
    timedTable(report),
    '![Milliseconds per call by step](peers-latency.svg)',
    '## Many runs at once',
    `${report.atOnceRuns} runs at once of ${report.atOnceSteps} steps, tool results of ${chars} characters. CPU is the processor time of the process with the side's worker and the client that starts its runs.`,
    atOnceTable(report),
    '## Bounds',
    'A figure of time is the ratio of two sides in the same round: the median of the rounds, with the lowest and the highest in brackets.',
    boundTable(report.bounds),
  ].join('\n\n')}\n`;
}

function intro({ rounds, machine, codec, retries }: PeersReport): string {
  const { cores, cpu, memoryGiB, system, node, sdk, server } = machine;
  return `\`npm run bench -- peers\` writes this page; \`README.md\` describes the comparison. Medians of ${rounds} rounds, with the lowest and the highest in brackets.
Measured on ${cores} cores (${cpu}, ${system}) with ${memoryGiB} GiB, Node ${node.replace(/^v/, '')}, SDK ${sdk} (the plugins: 1.23.0),
${server}. Codec of Longhaul, unless stated otherwise: ${codec}. Activities tried again: ${retries}.`;
}

function storedTable({ history }: PeersReport): string {
  const head = ['set-up', 'ended', 'events', 'history bytes', 'content bytes', 'amplification', 'bytes per step: first 20', 'last 20'];
  return table(head, rows(history, storedCells));
}

function storedCells({ ending, events, historyBytes, contentBytes, amplification, ...steps }: StoredFigures): string[] {
  const bytes = [historyBytes, contentBytes].map(count);
  return [
    ended(ending),
    count(events),
    ...bytes,
    `**${amplification.toFixed(2)}**`,
    count(steps.bytesPerStepFirst20),
    count(steps.bytesPerStepLast20),
  ];
}

function variantTable({ variants }: PeersReport): string {
  const cells = variants.map(({ resultChars, codec, executions, historyBytes, contentBytes, amplification }) => {
    return [count(resultChars), codec, count(executions), count(historyBytes), count(contentBytes), `**${amplification.toFixed(2)}**`];
  });
  return table(['result characters', 'codec', 'executions', 'history bytes', 'content bytes', 'amplification'], cells);
}

function timedTable({ latency, shortLatency, resultChars, shortResultChars }: PeersReport): string {
  const heads = [resultChars, shortResultChars].flatMap((chars) => [`${count(chars)} characters: median`, 'first 20 steps', 'last 20']);
  const cells = rows(latency, (figures, side) => [...timedCells(figures), ...timedCells(shortLatency[side])]);
  return table(['set-up', ...heads], cells);
}

function timedCells(figures: TimedFigures | undefined): string[] {
  if (figures === undefined) return ['', '', ''];
  const { msPerCallP50, msPerCallRange, msPerCallFirst20, msPerCallLast20, growth, ending } = figures;
  const end = ending.type === 'killed' ? `, ${ended(ending)}` : '';
  return [
    `**${msPerCallP50.toFixed(2)}** ${range(msPerCallRange)}`,
    msPerCallFirst20.toFixed(2),
    `${msPerCallLast20.toFixed(2)} (× ${growth.toFixed(2)}${end})`,
  ];
}

function atOnceTable({ atOnce }: PeersReport): string {
  const cells = rows(atOnce, ({ callsPerSecond, callsPerSecondRange, cpuMsPerCall }) => [
    `**${callsPerSecond.toFixed(1)}** ${range(callsPerSecondRange)}`,
    `**${cpuMsPerCall.toFixed(2)}**`,
  ]);
  return table(['set-up', 'calls per second', 'CPU ms per call'], cells);
}

function boundTable(bounds: readonly Bound[]): string {
  const cells = bounds.map(({ figure, value, range: rounds, type, bound, met }) => {
    const spread = rounds === undefined ? '' : ` (${rounds.map((ratio) => ratio.toFixed(2)).join('–')})`;
    return [figure, `**${value.toFixed(2)}**${spread}`, `${type === 'atMost' ? '≤' : '≥'} ${bound}`, met ? 'yes' : '**no**'];
  });
  return table(['Longhaul', 'value', 'bound', 'met'], cells);
}

function rows<Figures>(bySide: Partial<Record<SideName, Figures>>, cells: (figures: Figures, side: SideName) => string[]): string[][] {
  return SIDE_NAMES.flatMap((side) => {
    const figures = bySide[side];
    return figures === undefined ? [] : [[PEER_SIDES[side].label, ...cells(figures, side)]];
  });
}

function table(head: readonly string[], cells: readonly string[][]): string {
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...cells.map(line)].join('\n');
}

function ended(ending: Ending): string {
  return ending.type === 'completed' ? 'with its answer' : `killed at step ${ending.step}`;
}

function range([low, high]: Range): string {
  return `(${low.toFixed(1)}–${high.toFixed(1)})`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

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
