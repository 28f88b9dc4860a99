import { errorMessage } from '../../core/domain/errors.ts';
import type { CheckGroup, CheckStatus, Finding, Fix } from './check.ts';
import { AGENT_CHECKS } from './agent-checks.ts';
import { MACHINE_CHECKS } from './machine-checks.ts';
import { NETWORK_CHECKS } from './network-checks.ts';
import { QUEUE_CHECKS } from './queue-checks.ts';
import { SANDBOX_CHECKS } from './sandbox-checks.ts';
import { SERVER_CHECKS } from './server-checks.ts';
import { STORE_CHECKS } from './store-checks.ts';
import { CHECK_MS, Examination, type ExaminationFlags, type Machine } from './examination.ts';
import { homedir, userInfo } from 'node:os';

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

/** The result of all checks: fit for an issue, because it has no secrets, no name of a user and nothing of a conversation. */
export interface DoctorReport {
  /** The version of this form. */
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

/** Examines an installation: all checks at once. With `fix`, makes the changes that checks name, and runs the checks again. */
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
    ...(command === undefined ? {} : { command: redact(command) }),
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

/** Runs all checks but those that have a result already. Secrets that they read are put into `secrets`. */
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

/** Variables whose names look like those of secrets, and whose values say where one is. */
const PLACE_NAME = /_(?:FILE|PATH|DIR|URL|ID)$/i;

/** Names of accounts that are of no person, and words of sentences and commands. */
const COMMON_USERS = ['root', 'node', 'runner', 'ubuntu', 'debian', 'admin', 'user', 'app', 'worker', 'longhaul', 'temporal', 'redis'];

/** Values that are shorter are ordinary words: to remove them would spoil sentences, and they keep nothing safe. */
const SHORTEST_SECRET = 6;

/** A user and a password in an address. */
const CREDENTIALS = /(?<=:\/\/)[^\s/"']+@/g;

/** Texts that look like keys wherever they come from. */
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
