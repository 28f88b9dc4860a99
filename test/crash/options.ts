import { parseArgs } from 'node:util';
import { count, oneOf } from '../processes/command.ts';
import { type Pass, PASSES } from './processes/crash-testbed.ts';
import type { RecoveryOptions } from './recovery/recovery.ts';
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
  /** With `every`, the point of the first hit: 0 is the first point. Turns go round, so any number is one. */
  turn: number;
  /** The number of testbeds in use at the same time. */
  parallel: number;
  /** If true, a line with the outcome comes before the closing line, for a machine to read. */
  json: boolean;
  /** Hits a few points again where a check failed. */
  retry: boolean;
  /** Prints the points, and kills nothing. */
  list: boolean;
  /** Queries every run all the time, caches hardly any run, and replays every history at the end. */
  queries: boolean;
  /** Lets the workers report traces, and checks that each is complete. */
  traces: boolean;
  /** Kills at random times instead of at points. */
  random?: { seed: number; ms: number };
  /** Measures what runs wait for after the last of many kills, and does nothing else. */
  recovery?: RecoveryOptions;
}

const CHOICE = `[--only|--scenario ${SUBJECTS.join('|')}] [--pass ${PASSES.join('|')}]`;

/** The usage of the command. */
export const USAGE = `Usage: npm run crash -- ${CHOICE} [--all] [--points text,text] [--every 1] [--turn 0] [--parallel 4] [--queries] [--traces] [--retry] [--list] [--json]
       npm run crash -- --random [--seed 1] [--for 60s] ${CHOICE} [--parallel 4] [--queries] [--traces] [--json]
       npm run crash -- --recovery [--seed 1] [--for 45s] [--runs 40] [--workers 2] [--kills 15] [--json]`;

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
      turn: { type: 'string' },
      parallel: { type: 'string', default: '4' },
      random: { type: 'boolean', default: false },
      recovery: { type: 'boolean', default: false },
      runs: { type: 'string' },
      workers: { type: 'string' },
      kills: { type: 'string' },
      seed: { type: 'string' },
      for: { type: 'string' },
      list: { type: 'boolean', default: false },
      queries: { type: 'boolean', default: false },
      traces: { type: 'boolean', default: false },
      retry: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (!values.random && !values.recovery && (values.seed !== undefined || values.for !== undefined)) {
    throw new Error('--seed and --for go with --random and --recovery');
  }
  if (!values.recovery && (values.runs ?? values.workers ?? values.kills) !== undefined) {
    throw new Error('--runs, --workers and --kills go with --recovery');
  }
  if (values.recovery && (values.random || (values.only ?? values.scenario) !== undefined)) {
    throw new Error('--recovery goes without --random, --only and --scenario: it has runs of its own');
  }
  if (values.random && (values.list || values.all || values.retry || (values.every ?? values.turn) !== undefined || values.points !== '')) {
    throw new Error('--random goes without --points, --every, --turn, --all, --retry and --list');
  }
  return {
    only: subjects(values),
    passes: values.pass.split(',').map((text) => oneOf('pass', text, PASSES)),
    all: values.all,
    points: values.points.split(',').filter((text) => text !== ''),
    every: count('every', values.every ?? '1'),
    turn: turn(values.turn ?? '0'),
    parallel: count('parallel', values.parallel),
    json: values.json,
    list: values.list,
    queries: values.queries,
    traces: values.traces,
    retry: values.retry,
    ...(values.random ? { random: { seed: count('seed', values.seed ?? '1'), ms: milliseconds(values.for ?? '60s') } } : {}),
    ...(values.recovery ? { recovery: recoveryOptions(values) } : {}),
  };
}

function recoveryOptions(values: Partial<Record<'runs' | 'workers' | 'kills' | 'seed' | 'for', string>>): RecoveryOptions {
  return {
    runs: count('runs', values.runs ?? '40'),
    workers: count('workers', values.workers ?? '2'),
    kills: count('kills', values.kills ?? '15'),
    ms: milliseconds(values.for ?? '45s'),
    seed: count('seed', values.seed ?? '1'),
  };
}

function subjects({ only, scenario }: { only?: string; scenario?: string }): SubjectName[] {
  if (only !== undefined && scenario !== undefined) throw new Error('--scenario is another name of --only: give one of them');
  const [name, texts] = scenario === undefined ? (['only', only] as const) : (['scenario', scenario] as const);
  return texts === undefined ? [...SUBJECTS] : texts.split(',').map((text) => oneOf(name, text, SUBJECTS));
}

function turn(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--turn is "${text}": write a whole number, such as 0 or 30914`);
}

function milliseconds(text: string): number {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`--for is "${text}": write seconds or minutes, such as 60s or 5m`);
  return Number(number) * (unit === 'm' ? 60_000 : 1_000);
}
