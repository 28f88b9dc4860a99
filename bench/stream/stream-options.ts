import { count, oneOf } from '../../test/processes/command.ts';

/** The sinks that `stream` measures. */
const SINKS = ['memory', 'redis'] as const;

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
interface StreamValues {
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

/**
 * The sinks that `serve` measures. With `memory` the worker is in the process of the service; with the others it has a separate one. With
 * `none` the service is not notified of what the worker records.
 */
const SERVED_SINKS = ['redis', 'memory', 'none'] as const;

/** One of `SERVED_SINKS`. */
export type ServedSink = (typeof SERVED_SINKS)[number];

/** The options of `serve`. */
export interface ServeBenchOptions {
  command: 'serve';
  sink: ServedSink;
  /** Pairs of starts, one over HTTP and one by the client, that no worker takes. */
  starts: number;
  /** Readers of the one run that is running. */
  readers: number;
  /** Steps of that run. */
  steps: number;
  /** Tokens of that run per second. Every reader gets each of them. */
  rate: number;
  /** Runs that wait. */
  idleRuns: number;
  /** Readers of all runs that wait, together. */
  idleReaders: number;
  /** How long they are watched. */
  idleSeconds: number;
  quiet: boolean;
}

/** The usage of the command. */
export const SERVE_USAGE =
  '  npm run bench -- serve [--sink redis|memory|none] [--starts 2000] [--readers 200] [--steps 40] [--rate 10] [--idle-runs 100]\n' +
  '                         [--idle-readers 1000] [--idle-seconds 60] [--json]';

/** The flags of the command that no other one has. */
export const SERVE_FLAGS = {
  starts: { type: 'string', default: '2000' },
  readers: { type: 'string', default: '200' },
  'idle-runs': { type: 'string', default: '100' },
  'idle-readers': { type: 'string', default: '1000' },
} as const;

/** The values of the command line. */
interface ServeValues {
  sink?: string | undefined;
  starts: string;
  readers: string;
  steps?: string | undefined;
  rate?: string | undefined;
  'idle-runs': string;
  'idle-readers': string;
  'idle-seconds': string;
}

/** Queries per minute are counted over a whole minute. */
const LEAST_IDLE_SECONDS = 60;

/** Reads the options of `serve`. Throws an error whose message describes the mistake. */
export function serveOptions(values: ServeValues): Omit<ServeBenchOptions, 'quiet'> {
  const { sink = 'redis', starts, readers, steps = '40', rate = '10' } = values;
  const idleRuns = count('idle-runs', values['idle-runs']);
  return {
    command: 'serve',
    sink: oneOf('sink', sink, SERVED_SINKS),
    starts: count('starts', starts),
    readers: count('readers', readers),
    steps: count('steps', steps),
    rate: count('rate', rate),
    idleRuns,
    idleReaders: count('idle-readers', values['idle-readers'], idleRuns),
    idleSeconds: count('idle-seconds', values['idle-seconds'], LEAST_IDLE_SECONDS),
  };
}
