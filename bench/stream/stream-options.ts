import { count, oneOf } from '../../test/processes/option-values.ts';

/** The sinks that `stream` measures. */
export const SINKS = ['memory', 'redis'] as const;

/** One of `SINKS`. */
export type Sink = (typeof SINKS)[number];

/** The options of `stream`. */
export interface StreamOptions {
  command: 'stream';
  sink: Sink;
  /** Number of runs that stream at the same time. */
  runs: number;
  /** Tokens of each run in a second. */
  rate: number;
  /** How long each run streams. */
  seconds: number;
  /** Steps of a run whose steps are timed. */
  steps: number;
  /** Number of times that a step is timed with and without the sink. */
  rounds: number;
  quiet: boolean;
}

/** The usage of the command. */
export const STREAM_USAGE =
  '  npm run bench -- stream [--sink memory|redis] [--runs 20] [--rate 50] [--seconds 20] [--steps 10] [--rounds 9] [--json]';

/** The flags of the command that no other one has. */
export const STREAM_FLAGS = {
  sink: { type: 'string' },
  rate: { type: 'string' },
  seconds: { type: 'string' },
} as const;

/** The values of the command line. */
export interface StreamValues {
  sink?: string | undefined;
  rate?: string | undefined;
  seconds?: string | undefined;
  runs?: string | undefined;
  steps?: string | undefined;
  rounds?: string | undefined;
}

/** A median needs at least three rounds. */
const MIN_ROUNDS = 3;

/** Reads the options of `stream`. Throws an error whose message describes the mistake. */
export function streamOptions({
  sink = 'memory',
  rate = '50',
  seconds = '20',
  runs = '20',
  steps = '10',
  rounds = '9',
}: StreamValues): Omit<StreamOptions, 'quiet'> {
  return {
    command: 'stream',
    sink: oneOf('sink', sink, SINKS),
    runs: count('runs', runs),
    rate: count('rate', rate),
    seconds: count('seconds', seconds),
    steps: count('steps', steps),
    rounds: count('rounds', rounds, MIN_ROUNDS),
  };
}
