import { parseArgs } from 'node:util';
import { type Pass, PASSES } from './pass.ts';

/** The options of the command line, checked. */
export interface CrashOptions {
  passes: Pass[];
  /** Only points whose name contains one of these texts; empty: all. */
  points: string[];
  /** The number of testbeds in use at the same time. */
  parallel: number;
  /** If true, a line with the outcome comes before the closing line, for a machine to read. */
  json: boolean;
  /** Prints the points, and kills nothing. */
  list: boolean;
  /** Queries every run all the time, caches hardly any run, and replays every history at the end. */
  queries: boolean;
  /** Kills at random times instead of at points. */
  random?: { seed: number; ms: number };
}

/** The usage of the command. */
export const USAGE = `Usage: npm run crash -- [--pass ${PASSES.join('|')}] [--points text,text] [--parallel 4] [--queries] [--list] [--json]
       npm run crash -- --random [--seed 1] [--for 60s] [--pass ${PASSES.join('|')}] [--parallel 4] [--queries] [--json]`;

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): CrashOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      pass: { type: 'string', default: PASSES.join(',') },
      points: { type: 'string', default: '' },
      parallel: { type: 'string', default: '4' },
      random: { type: 'boolean', default: false },
      seed: { type: 'string' },
      for: { type: 'string' },
      list: { type: 'boolean', default: false },
      queries: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (!values.random && (values.seed !== undefined || values.for !== undefined)) throw new Error('--seed and --for go with --random');
  if (values.random && (values.list || values.points !== '')) throw new Error('--random goes without --points and --list');
  return {
    passes: values.pass.split(',').map(pass),
    points: values.points.split(',').filter((text) => text !== ''),
    parallel: count('parallel', values.parallel),
    json: values.json,
    list: values.list,
    queries: values.queries,
    ...(values.random ? { random: { seed: count('seed', values.seed ?? '1'), ms: milliseconds(values.for ?? '60s') } } : {}),
  };
}

function pass(text: string): Pass {
  const known = PASSES.find((one) => one === text);
  if (known !== undefined) return known;
  throw new Error(`--pass is "${text}": choose of ${PASSES.join(', ')}`);
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} is "${text}": write a whole number of at least 1`);
}

function milliseconds(text: string): number {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`--for is "${text}": write seconds or minutes, such as 60s or 5m`);
  return Number(number) * (unit === 'm' ? 60_000 : 1_000);
}
