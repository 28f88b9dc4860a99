import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PROPERTIES } from '../matrices.ts';
import { checkOut } from '../processes/checkout.ts';
import { beginCommand, endCommand, count } from '../processes/command.ts';
import { PROPERTY_RUNS } from '../property-runs.ts';
import { chooseMutants, type Mutant, mutantsOf } from './mutants.ts';

/**
 * Changes lines of the loop, one at a time, and counts the changes that tests notice: with the generated cases that `npm test` tries, and,
 * for those that go unnoticed, with all of them. A change that only all cases notice is what the smaller sample loses.
 */

const USAGE = 'Usage: npm run mutants -- [--count 100] [--seed 1] [--under src/core] [--tests test/core] [--minutes 600]';

interface MutantOptions {
  count: number;
  seed: number;
  /** The folder whose lines are changed. */
  under: string;
  /** The folder of the tests. */
  tests: string;
  /** No further change is tried after so long. */
  minutes: number;
}

function parse(args: readonly string[]): MutantOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      count: { type: 'string', default: '100' },
      seed: { type: 'string', default: '1' },
      under: { type: 'string', default: 'src/core' },
      tests: { type: 'string', default: 'test/core' },
      minutes: { type: 'string', default: '600' },
    },
  });
  return {
    count: count('count', values.count),
    seed: count('seed', values.seed),
    under: values.under,
    tests: values.tests,
    minutes: count('minutes', values.minutes),
  };
}

/** A test that never ends because of a change has noticed it. */
const LONGEST_MS = 300_000;

const { options, say } = beginCommand('mutants', { parse, usage: USAGE });
const { folder, commit, remove } = checkOut('HEAD');
process.once('exit', remove);

const files = readdirSync(join(folder, options.under), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .toSorted()
  .map((name) => join(options.under, name));
const all = files.flatMap((file) => mutantsOf(file, readFileSync(join(folder, file), 'utf8')));
const properties = PROPERTIES.filter((file) => file.startsWith(options.tests));

/** True if the tests pass. */
function pass(tests: readonly string[], env: NodeJS.ProcessEnv = {}): boolean {
  // Threads end with their process, also if a change makes them loop.
  const { status, signal, error } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--pool', 'threads', '--bail', '1', ...tests],
    {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: 'ignore',
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    },
  );
  const isTimedOut = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
  if (error !== undefined && !isTimedOut) throw error;
  if (signal !== null && !isTimedOut) throw new Error(`The tests were ended by ${signal}`);
  return status === 0;
}

type Outcome = 'noticed' | 'noticed by all cases' | 'unnoticed' | 'unclear';

function outcomeOf({ file, line, after }: Mutant): Outcome {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text
      .split('\n')
      .with(line - 1, after)
      .join('\n'),
  );
  try {
    if (!pass([options.tests])) return 'noticed';
    if (properties.length === 0 || pass(properties, { [PROPERTY_RUNS]: 'all' })) return 'unnoticed';
  } finally {
    writeFileSync(path, text);
  }
  // On a busy machine, all cases may take longer than the time of a test.
  return pass(properties, { [PROPERTY_RUNS]: 'all' }) ? 'noticed by all cases' : 'unclear';
}

if (!pass([options.tests])) throw new Error(`The tests of ${options.tests} fail without any change`);
const chosen = chooseMutants(all, options);
const begun = performance.now();
const outcomes: Record<Outcome, number> = { noticed: 0, 'noticed by all cases': 0, unnoticed: 0, unclear: 0 };
const lost: string[] = [];
for (const [index, mutant] of chosen.entries()) {
  if (performance.now() - begun > options.minutes * 60_000) break;
  // A signal that came during the last change ends the command here.
  await turn();
  const outcome = outcomeOf(mutant);
  outcomes[outcome] += 1;
  const place = `${mutant.file}:${mutant.line} "${mutant.after.trim()}"`;
  if (outcome === 'noticed by all cases') lost.push(`only all generated cases notice ${place}`);
  say(`${index + 1} of ${chosen.length}, ${outcome}: ${place}`);
}
const tried = Object.values(outcomes).reduce((sum, one) => sum + one, 0);
endCommand([{ problems: lost }], { commit, seed: options.seed, possible: all.length, tried, ...outcomes });
