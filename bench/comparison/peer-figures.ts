import type { LatencyFigures } from '../latency/latency.ts';
import type { Ending } from './peer-samples.ts';
import type { SideName } from './peer-sides.ts';
import type { Codec } from '../sides/side.ts';

/** Figures of the sides that were measured. */
export type BySide<Figures> = Partial<Record<SideName, Figures>>;

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
export interface StoredVariant extends StoredFigures {
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
export interface AtOnceFigures {
  callsPerSecond: number;
  callsPerSecondRange: Range;
  /** CPU time of the side's process per call. */
  cpuMsPerCall: number;
}
