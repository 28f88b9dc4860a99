import type { LatencyFigures } from '../latency/latency.ts';
import type { Machine } from '../figures/machine.ts';
import type { Phase } from './peer-phases.ts';
import type { SideName } from './peer-sides.ts';

/** The ending of a run: with the final answer, or by the server, which terminates a run whose history exceeds its limit. */
export type Ending = { type: 'completed' } | { type: 'killed'; step: number; reason: string };

/** A run's history, over all executions of its chain. */
export interface StoredHistory {
  executions: number;
  events: number;
  bytes: number;
  /** Bytes before the first step, and of each step. */
  bytesBefore: number;
  stepBytes: number[];
}

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
