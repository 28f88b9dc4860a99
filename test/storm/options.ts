import { parseArgs } from 'node:util';
import { count, oneOf } from '../processes/command.ts';

/** The parts of the storm. */
export const PARTS = ['approvals', 'messages', 'busy', 'queries', 'arrivals'] as const;

export type Part = (typeof PARTS)[number];

/** The options of the command line, checked. */
export interface StormOptions {
  parts: Part[];
  /** Number of runs that wait for approval at the same time. */
  runs: number;
  /** Number of messages and decisions together for one run. */
  messages: number;
  /** Seconds of the tool call of `busy`. */
  busySeconds: number;
  /** Number of runs of `queries`, and of their workers; all workers but one are killed at random. */
  queriedRuns: number;
  workers: number;
  /** Rounds of calls of each run of `queries`. */
  rounds: number;
  /** Number of runs that wait for a fresh worker in `arrivals`, and of the threads that keep the machine busy. */
  waitingRuns: number;
  hogs: number;
  /** The seed of all random choices of `queries`. */
  seed: number;
  /** Lets the workers report traces, and checks that each is complete. */
  traces: boolean;
  /** If true, a line of figures comes before the closing line, for a machine to read. */
  json: boolean;
}

/** The usage of the command. */
export const USAGE = `Usage: npm run storm -- [--runs 500] [--messages 5000] [--busy-seconds 60] [--queried-runs 200] [--workers 3] [--rounds 6] [--seed 1] [--waiting-runs 200] [--hogs 4] [--only ${PARTS.join(',')}] [--traces] [--json]`;

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): StormOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: '500' },
      messages: { type: 'string', default: '5000' },
      'busy-seconds': { type: 'string', default: '60' },
      'queried-runs': { type: 'string', default: '200' },
      workers: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '6' },
      seed: { type: 'string', default: '1' },
      'waiting-runs': { type: 'string', default: '200' },
      hogs: { type: 'string', default: '4' },
      only: { type: 'string', default: PARTS.join(',') },
      traces: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    parts: values.only.split(',').map((text) => oneOf('only', text, PARTS)),
    runs: count('runs', values.runs),
    messages: count('messages', values.messages),
    busySeconds: count('busy-seconds', values['busy-seconds']),
    queriedRuns: count('queried-runs', values['queried-runs']),
    workers: count('workers', values.workers),
    rounds: count('rounds', values.rounds),
    seed: count('seed', values.seed),
    waitingRuns: count('waiting-runs', values['waiting-runs']),
    hogs: count('hogs', values.hogs),
    traces: values.traces,
    json: values.json,
  };
}
