import type { StoredHistory } from '../figures/encoded-history.ts';
import type { PeersOptions } from '../options.ts';
import { PLUGINS, type SideName } from './peer-sides.ts';
import type { Codec } from '../sides/side.ts';
import type { LatencyFigures } from '../latency.ts';
import type { Machine } from '../figures/machine.ts';

/** One set-up of `peers`: its sides and their options. Each has its own server and processes. */
export interface Phase {
  name: PhaseName;
  sides: readonly SideName[];
  steps: number;
  resultChars: number;
  /** Runs of a turn, at the same time. */
  atOnce: number;
  rounds: number;
  /** The codec of Longhaul. */
  codec: Codec;
  /** If true, times are measured, so that each side has to be warm. */
  timed: boolean;
  /** If true, the histories are read and measured. */
  weighed: boolean;
}

/** The names of the set-ups, in the order of measurement. */
const PHASE_NAMES = ['long results', 'short results', 'at once', 'compressed', 'longest results', 'longest compressed'] as const;

/** One of `PHASE_NAMES`. */
export type PhaseName = (typeof PHASE_NAMES)[number];

/**
 * The number of steps of each of many runs at once: long enough that the cost of a call at its position in the run matters, as
 * far as there is time for 20 such runs of each side.
 */
const STEPS_AT_ONCE = 50;
const SHORT_RESULT_CHARS = 200;
/** The factor from the usual length of results to the longest. */
const LONGEST = 10;

/** The set-ups for these options. */
export function phasesOf(options: PeersOptions): Phase[] {
  const { sides, steps, resultChars, rounds, codec, atOnce } = options;
  const all: Omit<Phase, 'name'> = { sides, steps, resultChars, atOnce: 1, rounds, codec, timed: true, weighed: true };
  // Bytes are reproducible: one round is enough if nothing is timed.
  const bytesOnly = { ...all, sides: sides.filter((side) => side === 'longhaul'), rounds: 1, timed: false };
  const phases: Phase[] = [
    { ...all, name: 'long results' },
    { ...all, name: 'short results', resultChars: SHORT_RESULT_CHARS, weighed: false },
    { ...all, name: 'at once', steps: Math.min(steps, STEPS_AT_ONCE), atOnce, weighed: false },
    { ...bytesOnly, name: 'compressed', codec: 'zstd' },
    { ...bytesOnly, name: 'longest results', resultChars: LONGEST * resultChars },
    { ...bytesOnly, name: 'longest compressed', resultChars: LONGEST * resultChars, codec: 'zstd' },
  ];
  return phases.filter((phase) => phase.sides.length > 0);
}

/** Returns true if a set-up has a side that is installed separately. */
export function needsPlugins(phases: readonly Phase[]): boolean {
  return phases.some(({ sides }) => sides.some((side) => PLUGINS.includes(side)));
}

/** The ending of a run: with the final answer, or by the server, which terminates a run whose history exceeds its limit. */
export type Ending = { type: 'completed' } | { type: 'killed'; step: number; reason: string };

/** One side's turn in one round. */
export interface Sample {
  ending: Ending;
  latency: LatencyFigures;
  /** CPU time of the side's process (worker, and the client that starts the runs), divided by the calls of the turn. */
  cpuMsPerCall: number;
  /** Milliseconds per call, step by step: each step is the mean of its two calls. Only for a single run. */
  stepMs: number[];
  history?: StoredHistory;
}

/** The result of a set-up: the samples of each side, round by round. */
export interface PhaseSamples {
  phase: Phase;
  machine: Machine;
  samples: Partial<Record<SideName, Sample[]>>;
  /** Attempts of activities beyond the first, by side. If there are any, the figures contain their waits. */
  retries: Partial<Record<SideName, number>>;
}
