import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { checkLines, closingLine } from '../storm/check.ts';
import { secondsSince } from '../storm/timings.ts';
import { withResources, withTestbeds } from './processes/shared-resources.ts';
import type { SharedResources } from './processes/crash-testbed.ts';
import { runPass } from './runs/matrix.ts';
import { type CrashOptions, parseOptions, USAGE } from './options.ts';
import type { Outcome } from './runs/outcome.ts';
import type { Pass } from './pass.ts';
import { runRandomly } from './runs/random-runs.ts';
import { runUndisturbed } from './runs/undisturbed-run.ts';

/**
 * `npm run crash`: kills a worker, and then the server, at every point of a run, and checks that the run ends like an
 * undisturbed one, with every effect once. Reports its progress on stderr; prints a line for each point, with `--json` a line
 * with the outcome, and a closing line. Exit code 0: all checks hold; 1: some do not.
 */

function say(line: string): void {
  process.stderr.write(`[crash] ${line}\n`);
}

function readOptions(): CrashOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n${USAGE}\n`);
    process.exit(2);
  }
}

const options = readOptions();
// Servers and workers end with this process.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

function report({ pass, name, problems, histories, seconds }: Outcome): void {
  const where = histories === undefined ? [] : [`its histories are in ${histories}`];
  const lines = [...problems, ...where].flatMap((problem) => problem.split('\n'));
  const [title = '', ...rest] = checkLines(pass, { name, problems: lines.slice(0, 1) });
  process.stdout.write([`${title} (${seconds} s)`, ...rest, ...lines.slice(1).map((line) => `    ${line}`)].join('\n').concat('\n'));
}

function runOnePass(resources: SharedResources, pass: Pass): Promise<Outcome[]> {
  const { parallel, points, random } = options;
  if (random !== undefined) return runRandomly(resources, pass, { ...random, parallel, report });
  const wanted = (point: string): boolean => points.length === 0 || points.some((text) => point.includes(text));
  return runPass(resources, pass, { parallel, wanted, report });
}

/** Prints the points that a run reaches. */
async function list(resources: SharedResources): Promise<Outcome[]> {
  const { outcome, undisturbed } = await withTestbeds(resources, 'worker', (open) => runUndisturbed(open, resources));
  process.stdout.write((undisturbed?.points ?? []).map((point) => `${point}\n`).join(''));
  return [outcome];
}

const start = performance.now();
const passes: Partial<Record<Pass, object>> = {};
const outcomes = await withResources({ say, queries: options.queries }, async (resources) => {
  if (options.list) return list(resources);
  const all: Outcome[] = [];
  for (const pass of options.passes) {
    const begun = performance.now();
    const ofPass = await runOnePass(resources, pass);
    const failed = ofPass.filter(({ problems }) => problems.length > 0);
    passes[pass] = { passed: ofPass.length - failed.length, failed: failed.length, seconds: secondsSince(begun), failures: failed };
    all.push(...ofPass);
  }
  return all;
});
if (options.json) process.stdout.write(`${JSON.stringify({ ...passes, seconds: secondsSince(start) })}\n`);
process.stdout.write(`${closingLine(outcomes)}\n`);
process.exit(outcomes.every(({ problems }) => problems.length === 0) ? 0 : 1);
