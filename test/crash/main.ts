import { everyNth } from '../matrix-sample.ts';
import { checkLines, closingLine, beginCommand, endCommand } from '../processes/command.ts';
import { secondsSince } from '../processes/timings.ts';
import { withResources, withTestbeds } from './processes/shared-resources.ts';
import type { SharedResources, Pass } from './processes/crash-testbed.ts';
import { runPass, runRandomly } from './runs/matrix.ts';
import { parseOptions, USAGE } from './options.ts';
import type { Outcome, RecordOfRun, RunName, Subject, SubjectName } from './subject.ts';
import { codeSubject } from './code-subject.ts';
import { fallbackSubjects } from './fallback-subject.ts';
import { programSubject } from './program/program-subject.ts';
import { agentSubject, burstSubject } from './reference/agent-subject.ts';
import { measureRecovery } from './recovery/recovery.ts';
import { burstSessionSubject, sessionSubject } from './session/session-subject.ts';
import { runUndisturbed } from './runs/checked-run.ts';
import { treeSubject } from './tree/tree-subject.ts';

/**
 * `npm run crash`: kills a worker, and then the server, at every point of a run of an agent, with bursts and without, and at points of runs of a
 * program, of code, of a tree of agents, of a session, with bursts and without, and of one whose models fail, and checks that the run ends like an undisturbed one, with every effect once. Reports its progress on stderr; prints a
 * line for each point, one for each kind of run, with `--json` a line with the outcome, and a closing line. With `--recovery` it measures what runs wait
 * for after many kills instead. Exit code 0: all checks hold; 1: some do not.
 */

const { options, say } = beginCommand('crash', { parse: parseOptions, usage: USAGE });

function report({ subject, pass, name, problems, histories, seconds }: Outcome): void {
  const where = histories === undefined ? [] : [`its histories are in ${histories}`];
  const lines = [...problems, ...where].flatMap((problem) => problem.split('\n'));
  const [title = '', ...rest] = checkLines(`${subject}, ${pass}`, { name, problems: lines.slice(0, 1) });
  process.stdout.write([`${title} (${seconds} s)`, ...rest, ...lines.slice(1).map((line) => `    ${line}`)].join('\n').concat('\n'));
}

function runOnePass<Recorded extends RecordOfRun, Plain>(
  resources: SharedResources,
  hit: { pass: Pass; subject: Subject<Recorded, Plain> },
): Promise<Outcome[]> {
  const { parallel, retry, points: texts, all, every, turn, random } = options;
  if (random !== undefined) return runRandomly(resources, hit, { ...random, parallel, report });
  const eligible = (points: readonly string[]): readonly string[] => {
    if (texts.length > 0) return points.filter((point) => texts.some((text) => point.includes(text)));
    return all ? points : hit.subject.sample(points, hit.pass);
  };
  const chosen = (points: readonly string[]): readonly string[] => everyNth(eligible(points), { every, turn });
  return runPass(resources, hit, { parallel, retry, chosen, report });
}

/** Prints the points that a run reaches. */
async function list<Recorded extends RecordOfRun, Plain>(
  resources: SharedResources,
  subject: Subject<Recorded, Plain>,
): Promise<Outcome[]> {
  const { outcome, undisturbed } = await withTestbeds(resources, { pass: 'worker', subject }, (open) =>
    runUndisturbed(open, resources, subject),
  );
  if (undisturbed === undefined) report(outcome);
  process.stdout.write((undisturbed?.points ?? []).map((point) => `${point}\n`).join(''));
  return [outcome];
}

/** The outcome of the passes of one kind of run, for a machine to read. */
type Summary = Partial<Record<Pass, object>>;

async function runSubject<Recorded extends RecordOfRun, Plain>(
  resources: SharedResources,
  subject: Subject<Recorded, Plain>,
): Promise<Outcome[]> {
  if (options.list) return list(resources, subject);
  const all: Outcome[] = [];
  const passes: Summary = {};
  for (const pass of options.passes) {
    const begun = performance.now();
    const ofPass = await runOnePass(resources, { pass, subject });
    const failed = ofPass.filter(({ problems }) => problems.length > 0);
    passes[pass] = { passed: ofPass.length - failed.length, failed: failed.length, seconds: secondsSince(begun), failures: failed };
    all.push(...ofPass);
  }
  summaries[subject.name] = passes;
  process.stdout.write(`${subject.name}: ${closingLine(all)}\n`);
  return all;
}

if (options.recovery !== undefined) {
  const { problems, figures } = await measureRecovery(options.recovery, say);
  const check = { name: 'every run ends with its answer', problems };
  process.stdout.write(`${checkLines('recovery', check).join('\n')}\n`);
  if (!options.json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  endCommand([check], options.json ? figures : undefined);
}

/** Kinds of runs at the same time: most of a pass is a wait for the server to notice what died, and for the undisturbed run before it. */
const KINDS_AT_ONCE = 2;

async function runNamed(resources: SharedResources, name: SubjectName): Promise<Outcome[]> {
  if (name === 'program') return runSubject(resources, programSubject);
  if (name === 'session') return runSubject(resources, sessionSubject);
  if (name === 'burst-session') return runSubject(resources, burstSessionSubject);
  if (name === 'tree') return runSubject(resources, treeSubject);
  if (name === 'code') return runSubject(resources, codeSubject);
  if (name !== 'fallback') return runSubject(resources, name === 'agent' ? agentSubject : burstSubject);
  const all: Outcome[] = [];
  for (const subject of fallbackSubjects) all.push(...(await runSubject(resources, subject)));
  return all;
}

const start = performance.now();
const summaries: Partial<Record<RunName, Summary>> = {};
const outcomes = await withResources({ say, queries: options.queries, traces: options.traces }, async (resources) => {
  const all: Outcome[] = [];
  const left = options.only.values();
  const runInTurn = async (): Promise<void> => {
    for (const name of left) all.push(...(await runNamed(resources, name)));
  };
  await Promise.all(Array.from({ length: KINDS_AT_ONCE }, runInTurn));
  return all;
});
endCommand(outcomes, options.json ? { ...summaries, seconds: secondsSince(start) } : undefined);
