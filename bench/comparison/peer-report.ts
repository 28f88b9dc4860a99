import { edges } from '../figures/encoded-history.ts';
import { middle } from '../latency/latency.ts';
import type { Machine } from '../figures/machine.ts';
import { type Bound, boundsOf } from './peer-bounds.ts';
import type { AtOnceFigures, BySide, Range, StoredFigures, StoredVariant, TimedFigures } from './peer-figures.ts';
import type { PhaseName } from './peer-phases.ts';
import type { Ending, PhaseSamples, Sample, StoredHistory } from './peer-samples.ts';
import { SIDE_NAMES } from './peer-sides.ts';
import { contentBytes } from '../script/scripted-run.ts';
import type { Codec } from '../sides/side.ts';
import { median, rounded, sum } from '../figures/statistics.ts';

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
