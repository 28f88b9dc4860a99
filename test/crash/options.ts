import { parseArgs } from 'node:util';
import { type Pass, PASSES } from './pass.ts';
import { type SubjectName, SUBJECTS } from './subject.ts';

/** The options of the command line, checked. */
export interface CrashOptions {
  /** The runs that are hit. */
  only: SubjectName[];
  passes: Pass[];
  /** Hits the program at all its points, and not at a sample of them. */
  all: boolean;
  /** Only points whose name contains one of these texts; empty: all. */
  points: string[];
  /** 2: every second one of the points, and so on. */
  every: number;
  /** The number of testbeds in use at the same time. */
  parallel: number;
  /** If true, a line with the outcome comes before the closing line, for a machine to read. */
  json: boolean;
  /** Hits a few points at which a check failed once more. */
  retry: boolean;
  /** Prints the points, and kills nothing. */
  list: boolean;
  /** Queries every run all the time, caches hardly any run, and replays every history at the end. */
  queries: boolean;
  /** Kills at random times instead of at points. */
  random?: { seed: number; ms: number };
}

const CHOICE = `[--only|--scenario ${SUBJECTS.join('|')}] [--pass ${PASSES.join('|')}]`;

/** The usage of the command. */
export const USAGE = `Usage: npm run crash -- ${CHOICE} [--all] [--points text,text] [--every 1] [--parallel 4] [--queries] [--retry] [--list] [--json]
       npm run crash -- --random [--seed 1] [--for 60s] ${CHOICE} [--parallel 4] [--queries] [--json]`;

/** Reads the command line. Throws an error whose message describes the mistake. */
export function parseOptions(args: readonly string[]): CrashOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      // Another name of "only".
      scenario: { type: 'string' },
      pass: { type: 'string', default: PASSES.join(',') },
      all: { type: 'boolean', default: false },
      points: { type: 'string', default: '' },
      every: { type: 'string' },
      parallel: { type: 'string', default: '4' },
      random: { type: 'boolean', default: false },
      seed: { type: 'string' },
      for: { type: 'string' },
      list: { type: 'boolean', default: false },
      queries: { type: 'boolean', default: false },
      retry: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (!values.random && (values.seed !== undefined || values.for !== undefined)) throw new Error('--seed and --for go with --random');
  if (values.random && (values.list || values.all || values.retry || values.every !== undefined || values.points !== '')) {
    throw new Error('--random goes without --points, --every, --all, --retry and --list');
  }
  return {
    only: subjects(values),
    passes: values.pass.split(',').map((text) => chosen('pass', text, PASSES)),
    all: values.all,
    points: values.points.split(',').filter((text) => text !== ''),
    every: count('every', values.every ?? '1'),
    parallel: count('parallel', values.parallel),
    json: values.json,
    list: values.list,
    queries: values.queries,
    retry: values.retry,
    ...(values.random ? { random: { seed: count('seed', values.seed ?? '1'), ms: milliseconds(values.for ?? '60s') } } : {}),
  };
}

function subjects({ only, scenario }: { only?: string; scenario?: string }): SubjectName[] {
  if (only !== undefined && scenario !== undefined) throw new Error('--scenario is another name of --only: give one of them');
  const [name, texts] = scenario === undefined ? (['only', only] as const) : (['scenario', scenario] as const);
  return texts === undefined ? [...SUBJECTS] : texts.split(',').map((text) => chosen(name, text, SUBJECTS));
}

function chosen<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const known = choices.find((one) => one === text);
  if (known !== undefined) return known;
  throw new Error(`--${name} is "${text}": choose of ${choices.join(', ')}`);
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
