import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { apiChanges } from '../docs/api-changes.ts';
import { RELEASED, REPORT } from '../docs/api-report.ts';
import { turnOf } from '../matrix-sample.ts';
import { afterSecondTry, type Outcome, readOutcome } from './outcome.ts';
import { type CommandOptions, runCommand } from './run-command.ts';
import { runTests } from './run-tests.ts';
import { groupsOf, NamedLines, type RanStage, runGroup } from './lanes.ts';
import { type Extent, type Stage, stagesOf } from './stages.ts';

/**
 * `npm run ci`: all that is checked before a change is taken. Of the large matrices a commit runs its turn, which follows from its hash;
 * with `--all` everything is run. Lists at the end the skipped stages, the ones that passed only at the second try, and the failures, and
 * closes with the counts of tests, cases and points. Exit code 0: nothing failed; 1: something did; 2: the options cannot be read.
 */
const USAGE = `Usage: npm run ci -- [--all | --commit <hash>] [--only <stage>,<stage>] [--list]`;

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Options {
  extent: Extent;
  stages: Stage[];
  list: boolean;
}

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        all: { type: 'boolean', default: false },
        commit: { type: 'string' },
        only: { type: 'string' },
        list: { type: 'boolean', default: false },
      },
    });
    if (values.all && values.commit !== undefined) throw new Error('--all runs every part: it goes without --commit');
    const extent = values.all ? 'all' : extentOf(values.commit ?? headOf(root));
    const stages = stagesOf(extent);
    const names = values.only?.split(',') ?? stages.map(({ name }) => name);
    const unknown = names.find((name) => stages.every((stage) => stage.name !== name));
    if (unknown !== undefined) {
      throw new Error(`There is no stage "${unknown}": choose of ${stages.map(({ name }) => name).join(', ')}`);
    }
    return { extent, stages: stages.filter(({ name }) => names.includes(name)), list: values.list };
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n${USAGE}\n`);
    process.exit(2);
  }
}

function extentOf(hash: string): Extent {
  return { hash, turn: turnOf(hash) };
}

/** The hash of the commit that is checked out. Sources without a repository take the first turn. */
function headOf(folder: string): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '00000000';
  }
}

/** The environment of a stage: no real model is called, whatever the caller has set. */
function environmentOf({ env }: Stage): NodeJS.ProcessEnv {
  const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, OPENAI_MODEL: _model, MATRIX_SAMPLE: _sample, ...rest } = process.env;
  return { ...rest, ...env };
}

function lineOf({ command, env = {} }: Stage): string {
  const assigned = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const quoted = command.map((word) => (/[^\w./:=,-]/.test(word) ? `'${word}'` : word));
  return [...assigned, ...quoted].join(' ').replace(/ --$/, '');
}

async function runStage(stage: Stage, print: CommandOptions['print']): Promise<Outcome> {
  if (stage.needs !== undefined && !isInstalled(stage.needs)) {
    return { passed: 0, failed: 0, skipped: [`${stage.name}: ${stage.needs} is not installed`], failures: [], unstable: [] };
  }
  const options: CommandOptions = {
    cwd: root,
    env: environmentOf(stage),
    limitSeconds: stage.limitSeconds,
    print,
  };
  const { reading } = stage;
  if (reading === 'tests') return runTests(stage.command, options);
  const first = readOutcome(await runCommand(stage.command, options), reading);
  if (first.failed === 0 || stage.isRepeated !== true) return first;
  print(`── ${stage.name}, once more\n`);
  return afterSecondTry(first, readOutcome(await runCommand(stage.command, options), reading));
}

/** Runs a stage to its end. Its name precedes each line of its output if another lane prints, too. */
async function timedStage(stage: Stage, { isAlone }: { isAlone: boolean }): Promise<RanStage> {
  process.stdout.write(`── ${stage.name}: ${lineOf(stage)}\n`);
  const lines = new NamedLines(stage.name, (text) => process.stdout.write(text));
  const start = performance.now();
  const outcome = await runStage(stage, isAlone ? (text) => process.stdout.write(text) : (text) => lines.take(text));
  lines.end();
  const seconds = Math.round((performance.now() - start) / 1_000);
  process.stdout.write(`── ${stage.name}: ${outcome.passed} passed, ${outcome.failed} failed after ${seconds} s\n`);
  return { stage, seconds, outcome };
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function changesOfApi(): string[] {
  const [before, now] = [RELEASED, REPORT].map((path) => readFileSync(join(root, path), 'utf8'));
  return apiChanges(before ?? '', now ?? '');
}

function printList(title: string, lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`── ${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

async function main({ extent, stages, list }: Options): Promise<number> {
  const repeat = extent === 'all' ? 'npm run ci -- --all' : `npm run ci -- --commit ${extent.hash}`;
  if (list) {
    process.stdout.write(stages.map((stage) => `${stage.name}: ${lineOf(stage)}\n`).join(''));
    return 0;
  }
  process.stdout.write(
    extent === 'all'
      ? '── every part of the matrices\n'
      : `── the turn of commit ${extent.hash} in the matrices; to repeat it: ${repeat}\n`,
  );
  const outcomes: RanStage[] = [];
  for (const group of groupsOf(stages)) outcomes.push(...(await runGroup(group, timedStage)));
  const sum = (count: 'passed' | 'failed'): number => outcomes.reduce((total, { outcome }) => total + outcome[count], 0);
  const skipped = outcomes.flatMap(({ outcome }) => outcome.skipped);
  printList(
    'stages',
    outcomes.map(
      ({ stage, seconds, outcome }) =>
        `${String(seconds).padStart(5)} s  ${stage.name}: ${outcome.passed} passed, ${outcome.failed} failed`,
    ),
  );
  // A test fails for a change that no line of CHANGELOG.md names: a reader decides about the others.
  if (stages.some(({ name }) => name === 'check')) printList('changes of the API since the last release', changesOfApi());
  printList('skipped', skipped);
  printList(
    'unstable, passed at the second try',
    outcomes.flatMap(({ stage, outcome }) => outcome.unstable.map((line) => `${stage.name}: ${line}`)),
  );
  printList(
    'failed',
    outcomes.flatMap(({ outcome: { failures }, stage }) =>
      failures.length === 0 ? [] : [`${stage.name}: ${lineOf(stage)}`, ...failures.map((line) => `  ${line}`)],
    ),
  );
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}\n`);
  return sum('failed') === 0 && sum('passed') > 0 ? 0 : 1;
}

process.exitCode = await main(readOptions());
