import { errorMessage } from '../../src/core/domain/errors.ts';
import { broken } from './attack.ts';
import { ATTEMPTS } from './attempts/all.ts';
import { everyNth } from '../matrix-sample.ts';
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
const possible = wanted.filter(({ attempt }) => attempt.language !== 'python' || CAN_ISOLATE);
if (possible.length < wanted.length) {
  process.stdout.write(
    `${wanted.length - possible.length} attempts in Python are skipped: bubblewrap, or user namespaces, are not to be had here\n`,
  );
}
const chosen = everyNth(possible, options);
const start = performance.now();
// A bomb under a limit that does not hold takes the machine with it.
const unlimited = chosen.some(({ attempt }) => attempt.family === 'memory') ? await memoryLimitProblem() : undefined;
const notIsolated = chosen.some(({ attempt }) => attempt.language === 'python') ? await isolationProblem() : undefined;

const figures = { attempts: chosen.length, escapes: 0, deadHosts: 0, slowestOverLimitMs: 0, largestGrowthMb: 0 };
const ended: Record<string, number> = {};
let failed = 0;

/** The problems of an attempt: forbidden acts or answers, and resources above its limits, which may be the machine's fault. */
interface Wrong {
  problems: string[];
  aboveLimits?: string[];
}

async function attacked(host: HostProcess, { attempt, index }: (typeof chosen)[number]): Promise<Wrong> {
  if (attempt.language === 'python' && notIsolated !== undefined)
    return { problems: [`not run, because a limit does not hold here: ${notIsolated}`] };
  if (attempt.family === 'memory' && unlimited !== undefined)
    return { problems: [`not run, because the limit of memory does not hold here: ${unlimited}`] };
  const outcome = await host.attack(index);
  if (outcome === undefined) {
    figures.deadHosts += 1;
    return { problems: ['the host died'] };
  }
  ended[outcome.ended] = (ended[outcome.ended] ?? 0) + 1;
  if (outcome.escapes.length > 0) figures.escapes += 1;
  figures.slowestOverLimitMs = Math.max(figures.slowestOverLimitMs, Math.round(outcome.overLimitMs));
  figures.largestGrowthMb = Math.max(figures.largestGrowthMb, Math.round(outcome.growthMb));
  return { problems: [...outcome.escapes, ...outcome.problems], aboveLimits: broken(attempt, outcome) };
}

/** Makes the remaining attempts in order. Returns the ones that only exceeded their limits, if they may be repeated. */
async function work(left: Iterable<(typeof chosen)[number]>, { retry }: { retry: boolean }): Promise<typeof chosen> {
  const host = new HostProcess();
  const again: typeof chosen = [];
  for (const next of left) {
    const { problems, aboveLimits = [] } = await attacked(host, next);
    if (problems.length + aboveLimits.length === 0) continue;
    if (retry && problems.length === 0) again.push(next);
    else failed += 1;
    const { family, name } = next.attempt;
    const lines = [...problems, ...aboveLimits].map((problem) => `    ${problem}\n`);
    process.stdout.write(`FAILED ${family}: ${name.slice(0, 200)}\n${lines.join('')}`);
  }
  await host.close();
  return again;
}

const left = chosen.values();
const again = await Promise.all(Array.from({ length: HOSTS }, () => work(left, options)));
await work(again.flat(), { retry: false });

const seconds = Math.round((performance.now() - start) / 100) / 10;
if (options.json) process.stdout.write(`${JSON.stringify({ ...figures, ended, seconds })}\n`);
process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 && chosen.length > 0 ? 0 : 1);
