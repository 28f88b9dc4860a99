import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { broken } from './attack.ts';
import { ATTEMPTS } from './attempts/all.ts';
import { CAN_ISOLATE } from './can-isolate.ts';
import { HostProcess } from './host-process.ts';
import { type EscapeOptions, parseOptions, USAGE } from './options.ts';
import { isolationProblem, memoryLimitProblem } from './probe.ts';

/**
 * Runs code that tries to get out of its executor, to take more time or memory than its limits, or to deceive the host. Reports
 * each attempt that did not end as it should; prints, with `--json`, a line with the figures, and a closing line. Exit code 0: all
 * attempts were held; 1: some were not.
 */

/** Processes that make attempts at the same time. */
const HOSTS = 2;

function readOptions(): EscapeOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n${USAGE}\n`);
    process.exit(2);
  }
}

const options = readOptions();
const wanted = ATTEMPTS.map((attempt, index) => ({ attempt, index })).filter(
  ({ attempt }) => options.families.includes(attempt.family) && attempt.name.includes(options.only),
);
const chosen = wanted.filter(({ attempt }) => attempt.language !== 'python' || CAN_ISOLATE);
if (chosen.length < wanted.length) {
  process.stdout.write(
    `${wanted.length - chosen.length} attempts in Python are skipped: bubblewrap, or user namespaces, are not to be had here\n`,
  );
}
const start = performance.now();
// A bomb under a limit that does not hold takes the machine with it.
const unlimited = chosen.some(({ attempt }) => attempt.family === 'memory') ? await memoryLimitProblem() : undefined;
const notIsolated = chosen.some(({ attempt }) => attempt.language === 'python') ? await isolationProblem() : undefined;

const figures = { attempts: chosen.length, escapes: 0, deadHosts: 0, slowestOverLimitMs: 0, largestGrowthMb: 0 };
const ended: Record<string, number> = {};
let failed = 0;

async function problemsOf(host: HostProcess, { attempt, index }: (typeof chosen)[number]): Promise<string[]> {
  if (attempt.language === 'python' && notIsolated !== undefined) return [`not run, because a limit does not hold here: ${notIsolated}`];
  if (attempt.family === 'memory' && unlimited !== undefined)
    return [`not run, because the limit of memory does not hold here: ${unlimited}`];
  const outcome = await host.attack(index);
  if (outcome === undefined) {
    figures.deadHosts += 1;
    return ['the host died'];
  }
  ended[outcome.ended] = (ended[outcome.ended] ?? 0) + 1;
  if (outcome.escapes.length > 0) figures.escapes += 1;
  figures.slowestOverLimitMs = Math.max(figures.slowestOverLimitMs, Math.round(outcome.overLimitMs));
  figures.largestGrowthMb = Math.max(figures.largestGrowthMb, Math.round(outcome.growthMb));
  return [...outcome.escapes, ...outcome.problems, ...broken(attempt, outcome)];
}

/** Makes the attempts that are left, one after the other. */
async function work(left: Iterator<(typeof chosen)[number]>): Promise<void> {
  const host = new HostProcess();
  for (let next = left.next(); next.done !== true; next = left.next()) {
    const problems = await problemsOf(host, next.value);
    if (problems.length === 0) continue;
    failed += 1;
    const { family, name } = next.value.attempt;
    process.stdout.write(`FAILED ${family}: ${name.slice(0, 200)}\n${problems.map((problem) => `    ${problem}\n`).join('')}`);
  }
  await host.close();
}

const left = chosen.values();
await Promise.all(Array.from({ length: HOSTS }, () => work(left)));

const seconds = Math.round((performance.now() - start) / 100) / 10;
if (options.json) process.stdout.write(`${JSON.stringify({ ...figures, ended, seconds })}\n`);
process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 && chosen.length > 0 ? 0 : 1);
