import { parseArgs } from 'node:util';
import { count } from '../processes/command.ts';

/** The options of the command line, checked. */
export interface StormOptions {
  runs: number;
  workers: number;
  /** The seed of all random choices. */
  seed: number;
  /** If true, a line of figures comes before the closing line, for a machine to read. */
  json: boolean;
}

/** The usage of the command. */
export const USAGE = 'Usage: npm run stream-storm -- [--runs 50] [--workers 2] [--seed 1] [--json]';

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): StormOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: '50' },
      workers: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
    },
  });
  return {
    runs: count('runs', values.runs),
    workers: count('workers', values.workers),
    seed: count('seed', values.seed),
    json: values.json,
  };
}
