import { homedir, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { errorMessage } from '../../core/domain/errors.ts';
import { counted, printableLine, shellQuoted } from '../../core/domain/text.ts';
import { installedVersion } from '../../temporal/installed-sdk.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type Look, type Output, padToWidth } from '../output.ts';
import type { DOCTOR } from '../shell-commands.ts';
import { type Terminal, untilInterrupted } from '../terminal.ts';
import {
  CHECK_MS,
  type CheckGroup,
  type CheckStatus,
  Examination,
  type ExaminationFlags,
  type Finding,
  type Fix,
  type Machine,
  pathWord,
} from './examination.ts';
import { MACHINE_CHECKS, SANDBOX_CHECKS } from './machine-checks.ts';
import { NETWORK_CHECKS } from './network-checks.ts';
import { QUEUE_CHECKS, SERVER_CHECKS } from './server-checks.ts';
import { AGENT_CHECKS, STORE_CHECKS } from './store-checks.ts';

/** Examines the installation and prints the findings. Returns 1 if a check has failed. */
export async function doctor({ terminal, output }: CommandIo, flags: FlagsOf<typeof DOCTOR>): Promise<number> {
  const { fix = false, ...rest } = flags;
  const longhaul = installedVersion('longhaul') ?? '';
  const report = await untilInterrupted(terminal.signal, examine(thisMachine(terminal), rest, { fix, longhaul }));
  if (output.json) output.printJson(report);
  else for (const line of reportLines(report, output)) output.print(line);
  return report.ok ? EXIT_CODES.ok.code : EXIT_CODES.unexpected.code;
}

/** The ports of the server, its UI, the HTTP service and the codec server. */
const DEV_PORTS = [7233, 8233, 8787, 8234];

function thisMachine(terminal: Terminal): Machine {
  return {
    env: terminal.env,
    folder: process.cwd(),
    nodeVersion: process.versions.node,
    loadsTypeScript: process.features.typescript !== false,
    ports: DEV_PORTS,
    ask: asking(terminal),
  };
}

/** Returns a function that asks a person; undefined where nobody types. Anything but "y" or "yes" is a no. */
function asking({ interactive, signal }: Terminal): Machine['ask'] {
  if (interactive === undefined) return undefined;
  return async (question) => {
    const reader = createInterface({ input: interactive.input, output: interactive.output });
    try {
      return /^y(?:es)?$/i.test((await reader.question(question, { signal })).trim());
    } finally {
      reader.close();
    }
  };
}

const LOOKS: Readonly<Record<CheckStatus, Look>> = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'dim' };

function* reportLines({ checks, fixed, longhaul, node, platform }: DoctorReport, output: Output): Generator<string> {
  yield output.look('bold', `Longhaul ${longhaul} on Node ${node}, ${platform}`);
  const width = Math.max(...checks.map(({ name }) => name.length));
  let group = '';
  for (const check of checks) {
    if (check.group !== group) yield `\n${output.look('bold', check.group)}`;
    group = check.group;
    yield* checkLines(check, width, output);
  }
  if (fixed.length > 0) yield `\n${output.look('bold', 'Repaired')}`;
  for (const { done, undo } of fixed) yield* [`  ${printableLine(done)}`, `  undo: ${printableLine(undo)}`];
  yield `\n${summaryOf(checks)}`;
}

function* checkLines({ name, status, summary, command }: CheckReport, width: number, output: Output): Generator<string> {
  yield `  ${output.look(LOOKS[status], padToWidth(status, 'skipped'.length))}  ${padToWidth(name, width)}  ${printableLine(summary)}`;
  if (command !== undefined)
    yield `${' '.repeat(width + 13)}${output.look('cyan', printableLine(command.replace(/^longhaul /, `${output.program} `)))}`;
}

function summaryOf(checks: readonly CheckReport[]): string {
  const count = (status: CheckStatus): number => checks.filter((check) => check.status === status).length;
  return `${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${count('fail')} failed, ${count('skipped')} skipped`;
}

/** Every check, in the order of the report. */
const CHECK_GROUPS: readonly CheckGroup[] = [
  MACHINE_CHECKS,
  SERVER_CHECKS,
  QUEUE_CHECKS,
  AGENT_CHECKS,
  SANDBOX_CHECKS,
  STORE_CHECKS,
  NETWORK_CHECKS,
];

/** The result of one check in a report. */
export interface CheckReport {
  name: string;
  group: string;
  status: CheckStatus;
  summary: string;
  command?: string;
  /** How long it took. */
  ms: number;
}

/** The result of all checks: safe to paste into an issue, without secrets, user names or content of conversations. */
export interface DoctorReport {
  /** The version of this format. */
  version: 1;
  longhaul: string;
  node: string;
  platform: string;
  /** True if no check has failed. */
  ok: boolean;
  checks: CheckReport[];
  /** What `--fix` has changed, each with the command that undoes it. */
  fixed: { done: string; undo: string }[];
}

/** Examines an installation with all checks at once. With `fix`, makes the changes that checks propose, and runs the checks again. */
export async function examine(
  machine: Machine,
  flags: ExaminationFlags,
  { fix = false, longhaul }: { fix?: boolean; longhaul: string },
): Promise<DoctorReport> {
  const secrets: Record<string, string> = {};
  const redact = (text: string): string => redaction({ ...machine.env, ...secrets })(text);
  const fixed: DoctorReport['fixed'] = [];
  let results = await runChecks(machine, flags, secrets);
  const fixes = results.flatMap(({ name, finding }) => (finding.fix === undefined ? [] : [{ name, fix: finding.fix }]));
  if (fix && fixes.length > 0) {
    const problems = new Map<string, string>();
    for (const { name, fix: one } of fixes) {
      const problem = await appliedProblem(one);
      if (problem === undefined) fixed.push({ done: redact(one.done), undo: redact(one.undo) });
      else problems.set(name, problem);
    }
    await results.close();
    // A person is asked once, and a model is called once.
    const kept = results.filter(({ name }) => name === 'providers');
    results = await runChecks(machine, flags, secrets, kept);
    for (const one of results) {
      const problem = problems.get(one.name);
      if (problem !== undefined) one.finding = { ...one.finding, summary: `${one.finding.summary} It could not be repaired: ${problem}` };
    }
  }
  await results.close();
  const checks = results.map(({ name, group, finding: { status, summary, command }, ms }) => ({
    name,
    group,
    status,
    summary: redact(summary),
    ...(command === undefined ? {} : { command: redact(withFlags(command, flags)) }),
    ms,
  }));
  return {
    version: 1,
    longhaul,
    node: machine.nodeVersion,
    platform: `${process.platform} ${process.arch}`,
    ok: checks.every(({ status }) => status !== 'fail'),
    checks,
    fixed,
  };
}

/** Commands of this program that concern the examined server. */
const OF_SERVER = /^longhaul (?:doctor|list|worker)\b/;

/** Returns a command of this program with flags for the examined agents module and server, if they are not the defaults. */
function withFlags(command: string, { agents, address, namespace, taskQueue }: ExaminationFlags): string {
  const named = agents === undefined ? command : command.replace('--agents ./agents.ts', `--agents ${pathWord(agents)}`);
  if (!OF_SERVER.test(named)) return named;
  const server = Object.entries({ address, namespace, 'task-queue': taskQueue });
  return server.reduce((text, [name, value]) => (value === undefined ? text : `${text} --${name} ${shellQuoted(value)}`), named);
}

async function appliedProblem(fix: Fix): Promise<string | undefined> {
  try {
    await fix.apply();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

interface CheckResult {
  name: string;
  group: string;
  finding: Finding;
  ms: number;
}

type CheckResults = CheckResult[] & { close: () => Promise<void> };

/** Runs all checks that have no result yet. Secrets that they read are put into `secrets`. */
async function runChecks(
  machine: Machine,
  flags: ExaminationFlags,
  secrets: Record<string, string>,
  kept: readonly CheckResult[] = [],
): Promise<CheckResults> {
  const examination = new Examination(machine, flags, secrets);
  await examination.agents;
  const results = await Promise.all(
    CHECK_GROUPS.flatMap(({ heading, checks }) =>
      checks.map(async ({ name, run }) => {
        const known = kept.find((one) => one.name === name);
        if (known !== undefined) return known;
        const start = performance.now();
        const finding = await inTime(async () => run(examination), name === 'providers' ? LIVE_MS : CHECK_MS);
        return { name, group: heading, finding, ms: Math.round(performance.now() - start) };
      }),
    ),
  );
  return Object.assign(results, { close: () => examination.close() });
}

/** A person may think before a model is called. */
const LIVE_MS = 120_000;

async function inTime(run: () => Promise<Finding>, ms: number): Promise<Finding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    timer = setTimeout(
      () => resolve({ status: 'fail', summary: `The check had no answer within ${ms / 1000} s.`, command: 'longhaul doctor' }),
      ms,
    );
  });
  try {
    return await Promise.race([run(), late]);
  } catch (error) {
    return { status: 'fail', summary: `The check itself failed: ${errorMessage(error).split('\n')[0]}`, command: 'longhaul doctor' };
  } finally {
    clearTimeout(timer);
  }
}

/** Names of variables whose values are secrets. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_DSN$/i;

/** Variables that are named like secrets, but whose values only say where a secret is. */
const PLACE_NAME = /_(?:FILE|PATH|DIR|URL|ID)$/i;

/** Account names that do not identify a person, and ordinary words of sentences and commands. */
const COMMON_USERS = ['root', 'node', 'runner', 'ubuntu', 'debian', 'admin', 'user', 'app', 'worker', 'longhaul', 'temporal', 'redis'];

/** Shorter values are ordinary words: removing them would spoil sentences, and protect nothing. */
const SHORTEST_SECRET = 6;

/** A user and a password in an address. */
const CREDENTIALS = /(?<=:\/\/)[^\s/"']+@/g;

/** Texts that look like keys, wherever they come from. */
const KEY_FORMS =
  /\b(?:(?:sk|pk|rk|xox[abp]|xapp|glpat)[-_]|(?:gsk|hf|npm|gh[opsu]|github_pat)_)[\w-]{12,}\b|\bAIza[\w-]{30,}|(?<=\bBearer )[^\s"']{8,}|(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g;

/**
 * Returns a function that removes from texts what an issue must not have: values of variables that are secrets, credentials in addresses,
 * texts that look like keys, the folder and the name of the user.
 */
export function redaction(env: NodeJS.ProcessEnv, home = homedir(), user = userName()): (text: string) => string {
  const values = Object.entries(env)
    .filter(([name, value]) => SECRET_NAME.test(name) && !PLACE_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET)
    .flatMap(([name, value = '']) => [value, ...partsOf(value)].map((part) => [part, `[${name}]`] as const))
    .toSorted(([one], [other]) => other.length - one.length);
  const userPattern =
    user === undefined || user.length <= 2 || COMMON_USERS.includes(user)
      ? undefined
      : new RegExp(`(?<![\\w.-])${escaped(user)}(?![\\w.-])`, 'g');
  const homePattern = home.length > 1 ? new RegExp(`${escaped(home)}(?![\\w.-])`, 'g') : undefined;
  return (text) => {
    let shown = text.replace(CREDENTIALS, '');
    for (const [value, name] of values) shown = shown.replaceAll(value, name);
    shown = shown.replace(KEY_FORMS, '[key]');
    if (homePattern !== undefined) shown = shown.replace(homePattern, '~');
    return userPattern === undefined ? shown : shown.replace(userPattern, '[user]');
  };
}

/** Returns the secrets in a variable with several, such as `2026:<base64>,2025:<base64>`. */
function partsOf(value: string): string[] {
  return value
    .split(',')
    .flatMap((entry) => [entry.trim(), entry.trim().replace(/^[^:]*:/, '')])
    .filter((part) => part.length >= SHORTEST_SECRET);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** A container may have a user without a name. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
