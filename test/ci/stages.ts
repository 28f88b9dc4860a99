import { everyNth } from '../matrix-sample.ts';
import { PARTS } from '../storm/options.ts';
import type { Reading } from './outcome.ts';

/** A command of the CI, and how its output says what has passed. */
export interface Stage {
  name: string;
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Seconds after which it is ended, and has failed. */
  limitSeconds: number;
  /** `tests`: it runs vitest, and repeats the files that fail. */
  reading: 'tests' | Reading;
  /** Killed processes and a busy machine are part of it: it is rerun if it fails. For a stage without a lane. */
  isRepeated?: true;
  /** A program without which it is left out. */
  needs?: 'bwrap' | 'redis-server';
  /**
   * Stages that follow each other and have lanes run at the same time, and in order within a lane: kills mostly wait for the server to
   * notice them, while cases compute. A stage that fails next to the other lane is rerun alone. A stage without a lane runs alone.
   */
  lane?: 'kills' | 'cases';
}

/** What of the matrices is run: everything, or the turn of a commit. */
export type Extent = 'all' | { hash: string; turn: number };

/** The stages of a run of the CI, in the order of their names in the report. `npm test` is the command that the README names. */
export function stagesOf(extent: Extent): Stage[] {
  return [
    { name: 'tests', command: ['npm', 'test', '--'], limitSeconds: 1_800, reading: 'tests' },
    matrices(extent),
    ...crashes(extent),
    ...cases(),
    // Each of these keeps the machine busy itself, or measures its own load.
    ...storms(extent),
    {
      name: 'escape',
      command: npm('escape', ...sample(extent, { every: 3 }), '--retry', '--json'),
      limitSeconds: 900,
      reading: 'closing line',
    },
    ...firstHours(extent),
    ...demos(extent),
  ];
}

function npm(script: string, ...args: string[]): string[] {
  return ['npm', 'run', '--silent', script, '--', ...args];
}

/** The options of a matrix of processes that hit its turn of a commit. */
function sample(extent: Extent, { every }: { every: number }): string[] {
  return extent === 'all' ? [] : ['--every', String(every), '--turn', String(extent.turn)];
}

/** The turn within a choice of every second one: with the same turn, each kind would always meet the same half of its points. */
function inner(extent: Extent): Extent {
  return extent === 'all' ? extent : { ...extent, turn: Math.floor(extent.turn / 2) };
}

/** True if the workers of a storm report traces: at every second turn. */
function isTraced(extent: Extent): boolean {
  return extent === 'all' || Math.floor(extent.turn / 2) % 2 === 0;
}

function matrices(extent: Extent): Stage {
  const stage = { name: 'matrices', command: ['npm', 'run', 'test:matrices', '--'], limitSeconds: 3_600, reading: 'tests' } as const;
  return extent === 'all' ? stage : { ...stage, env: { MATRIX_SAMPLE: extent.hash } };
}

/** What computes, next to what waits. */
function cases(): Stage[] {
  const stages: Stage[] = [
    // `npm test` runs its tests, too.
    { name: 'check', command: npm('check', '--without-tests'), limitSeconds: 900, reading: 'lines' },
    { name: 'spec', command: npm('spec', 'test/spec/cases'), limitSeconds: 600, reading: 'closing line' },
    {
      name: 'spec-python',
      command: npm('spec', 'test/spec/cases', '--python'),
      limitSeconds: 600,
      reading: 'closing line',
      needs: 'bwrap',
    },
    { name: 'providers', command: npm('providers'), limitSeconds: 600, reading: 'closing line' },
    {
      name: 'endless',
      command: npm('bench', 'endless', '--steps', ENDLESS_STEPS, '--json'),
      limitSeconds: 600,
      reading: isWhole,
    },
  ];
  return stages.map((stage) => ({ ...stage, lane: 'cases' }));
}

/** Messages to running runs under load, each must arrive once; and readers of streams while workers, services and Redis are killed. */
function storms(extent: Extent): Stage[] {
  const parts = extent === 'all' ? PARTS : everyNth(PARTS, { every: 2, turn: extent.turn });
  const seed = extent === 'all' ? 1 : extent.turn + 1;
  const size = `--runs 40 --messages 300 --busy-seconds 60 --queried-runs 24 --workers 3 --waiting-runs 60 --hogs 2 --seed ${seed}`;
  return [
    {
      name: 'storm',
      command: npm('storm', ...words(size), '--only', parts.join(','), ...(isTraced(extent) ? ['--traces'] : []), '--json'),
      limitSeconds: 900,
      reading: 'closing line',
      isRepeated: true,
    },
    {
      name: 'stream-storm',
      command: npm('stream-storm', ...words(`--runs 8 --seed ${seed}`), '--json'),
      limitSeconds: 600,
      reading: 'closing line',
      isRepeated: true,
      needs: 'redis-server',
    },
  ];
}

/**
 * A worker, and then the server, killed at points of a run: of an agent wherever something has happened that the server may not know, by
 * worker, and at some by server; of an agent in bursts, programs, code, trees of agents and sessions, with bursts and without, at samples. `asked`: some of the agent's points, with runs
 * that are asked all the time on workers that keep hardly any in memory. `crash`: workers report traces, which must be complete. Up to three
 * failed points get a second try.
 */
function crashes(extent: Extent): Stage[] {
  const kinds = ['burst', 'program', 'code', 'tree', 'session', 'burst-session', 'fallback'];
  const chosen = extent === 'all' ? kinds : everyNth(kinds, { every: 2, turn: extent.turn });
  const rows = [
    { name: 'crash', run: `--traces --only ${chosen.join(',')}`, every: 8 },
    { name: 'crash-agent', run: '--only agent --pass worker --points after,told,approval,continue,update,end', every: 8 },
    { name: 'crash-server', run: '--only agent --pass server --points callModel,continue,approval', every: 8 },
    {
      name: 'asked',
      run: '--only agent --queries --pass worker --points',
      points: 'callModel 5,callModel 9,approval wait,continue',
      every: 2,
    },
  ];
  return rows.map(({ name, run, points, every }) => ({
    name,
    command: npm(
      'crash',
      ...words(run),
      ...(points === undefined ? [] : [points]),
      ...sample(inner(extent), { every }),
      '--retry',
      '--json',
    ),
    limitSeconds: 1_800,
    reading: 'closing line',
    lane: 'kills',
  }));
}

/** The demos of the README: each has tests among the matrices, too. */
function demos(extent: Extent): Stage[] {
  const scripts = ['demo', 'demo:program', 'demo:desk', 'demo:chat', 'demo:web'];
  const chosen = extent === 'all' ? scripts : everyNth(scripts, { every: scripts.length, turn: extent.turn });
  return chosen.map((script) => ({
    name: script,
    command: npm(script, '--exit'),
    limitSeconds: 180,
    reading: 'exit code',
    isRepeated: true,
  }));
}

/** The commits that have a turn at the first hours: each takes minutes, most of them for packages that nothing else needs. Not a multiple of 2 or 3, so that each project has its turn. */
const HOURS_EVERY = 7;

/** The built site in a browser, and projects that begin from a registry. A part that cannot be installed here is skipped, by its name. */
function firstHours(extent: Extent): Stage[] {
  const stage = { name: 'hours', command: ['npm', 'run', 'test:hours', '--'], limitSeconds: 3_600, reading: 'tests' } as const;
  if (extent === 'all') return [stage];
  return extent.turn % HOURS_EVERY === 0 ? [{ ...stage, env: { MATRIX_SAMPLE: extent.hash } }] : [];
}

function words(text: string): string[] {
  return text.split(' ');
}

const ENDLESS_STEPS = '400';

/** A run that outgrows one execution: its export must be whole. */
function isWhole(output: string): boolean {
  const figures = output
    .trimEnd()
    .split('\n')
    .findLast((line) => line.startsWith('{'));
  if (figures === undefined) return false;
  const { steps, executions, exportGaps } = JSON.parse(figures) as { [figure: string]: unknown };
  return steps === Number(ENDLESS_STEPS) && Number(executions) > 1 && exportGaps === 0;
}
