import { errorMessage } from '../../src/core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { CaseProblem, only, type Operation, type SuiteAdapter } from './adapters/adapter.ts';
import type { CaseFile, SpecCase } from './case-file.ts';
import { INFORMATIONAL_KEYS, match, matcherOf, type MatchMemory, type Mismatch, UNORDERED_TAIL } from './match.ts';

/** The verdict on a case. */
type Verdict = { type: 'passed' } | { type: 'skipped'; reason: string } | { type: 'failed'; problem?: string; mismatches: Mismatch[] };

/** A case with its verdict. */
export interface Replayed {
  suite: string;
  specCase: SpecCase;
  verdict: Verdict;
}

/** The outcome of an operation. `unreadable`: its adapter cannot translate the case. */
type Outcome =
  | { type: 'returned'; value: unknown }
  | { type: 'threw'; message: string }
  | { type: 'unreadable'; problem: string }
  | { type: 'stuck' };

/** A case that takes longer is stuck, and would keep the others from being replayed. */
const CASE_TIMEOUT_MS = 10_000;

/** Keys that any expectation may have. */
export const COMMON_KEYS = ['raises_or_error', UNORDERED_TAIL, ...INFORMATIONAL_KEYS];

/** Replays the cases of one file, this many at a time, and returns them in their order. */
export async function replayFile(
  file: CaseFile & { type: 'cases' },
  findSuite: (suite: string) => SuiteAdapter | undefined,
  { atOnce = 1 }: { atOnce?: number } = {},
): Promise<Replayed[]> {
  const adapter = findSuite(file.suite);
  const memory: MatchMemory = { generated: new Set() };
  const verdicts = new Map<SpecCase, Verdict>();
  const left = file.cases.values();
  const replayInTurn = async (): Promise<void> => {
    for (const specCase of left)
      verdicts.set(specCase, adapter === undefined ? failure('No adapter knows this suite.') : await replayCase(adapter, specCase, memory));
  };
  await Promise.all(Array.from({ length: atOnce }, replayInTurn));
  return [...file.cases].flatMap((specCase) => {
    const verdict = verdicts.get(specCase);
    return verdict === undefined ? [] : [{ suite: file.suite, specCase, verdict }];
  });
}

async function replayCase(adapter: SuiteAdapter, specCase: SpecCase, memory: MatchMemory): Promise<Verdict> {
  const [unknownKey] = specCase.unknownKeys;
  if (unknownKey !== undefined) return failure(`The case has a key "${unknownKey}" that the format does not know.`);
  const reason = own(adapter.withoutCounterpart, specCase.op);
  if (reason !== undefined) return { type: 'skipped', reason };
  const operation = own(adapter.operations, specCase.op);
  if (operation === undefined) return failure(`No adapter knows the operation "${specCase.op}".`);
  const expect = adapter.normalise?.(specCase.expect, specCase.op) ?? specCase.expect;
  const outcome = await perform(operation, specCase.input, expect);
  try {
    return judge(expect, outcome, memory);
  } catch (error) {
    return failure(errorMessage(error));
  }
}

/** Names of operations come from files: only own properties count. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

async function perform(operation: Operation, input: JsonValue, expect: JsonValue): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ type: 'stuck' }), CASE_TIMEOUT_MS);
  });
  const done = async (): Promise<Outcome> => {
    try {
      return { type: 'returned', value: await operation.perform(readable(operation, input, expect), expect) };
    } catch (error) {
      if (error instanceof CaseProblem) return { type: 'unreadable', problem: error.message };
      return { type: 'threw', message: errorMessage(error) };
    }
  };
  try {
    return await Promise.race([done(), stuck]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the input of a case if the adapter knows every key of it, and of the expectation. */
function readable(operation: Operation, input: JsonValue, expect: JsonValue): JsonObject {
  if (isJsonObject(expect) && matcherOf(expect) === undefined) only('The expectation', expect, [...operation.expect, ...COMMON_KEYS]);
  return only('The input', input, operation.input);
}

/** Compares an outcome with an expectation. `raises_or_error` accepts a thrown error or a result with status `error`. */
function judge(expect: JsonValue, outcome: Outcome, memory: MatchMemory): Verdict {
  if (outcome.type === 'unreadable') return failure(outcome.problem);
  if (outcome.type === 'stuck') return failure(`There was no outcome within ${CASE_TIMEOUT_MS} ms.`);
  if (isJsonObject(expect) && Object.hasOwn(expect, 'raises_or_error')) return judgeError(expect, outcome, memory);
  if (outcome.type === 'threw') return failure(`It threw: ${outcome.message}`);
  return verdictOf(match(expect, outcome.value, memory));
}

function judgeError(
  { raises_or_error: error = null, ...others }: JsonObject,
  outcome: Extract<Outcome, { type: 'returned' | 'threw' }>,
  memory: MatchMemory,
): Verdict {
  if (outcome.type === 'threw') return verdictOf(matchError(error, outcome.message, memory));
  const { status, error: text } = Object(outcome.value) as Record<string, unknown>;
  if (status !== 'error') return verdictOf([{ path: 'status', expected: 'error', actual: status }]);
  return verdictOf([...matchError(error, text, memory), ...match(others, outcome.value, memory)]);
}

/** `true` means any error. */
function matchError(expected: JsonValue, actual: unknown, memory: MatchMemory): Mismatch[] {
  if (expected === true) return [];
  return match(expected, actual, memory).map((mismatch) => ({ ...mismatch, path: 'raises_or_error' }));
}

function verdictOf(mismatches: Mismatch[]): Verdict {
  return mismatches.length === 0 ? { type: 'passed' } : { type: 'failed', mismatches };
}

function failure(problem: string): Verdict {
  return { type: 'failed', problem, mismatches: [] };
}

/** A value longer than this is cut: the case file has the whole value. */
const VALUE_LENGTH = 1_000;

/** A failed case as text: its name, and each difference with its path. Empty for every other case. */
export function failureReport({ suite, specCase, verdict }: Replayed): string[] {
  if (verdict.type !== 'failed') return [];
  const { id, title, op, level } = specCase;
  return [
    `FAILED ${suite} ${id} [${level}] ${op}: ${title}`,
    ...(verdict.problem === undefined ? [] : [`    ${verdict.problem}`]),
    ...verdict.mismatches.flatMap(mismatchReport),
  ];
}

function mismatchReport({ path, expected, actual }: Mismatch): string[] {
  return [`    at ${path === '' ? '(the whole value)' : path}`, `      - expected ${shown(expected)}`, `      + actual   ${shown(actual)}`];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? `(${typeof value})`;
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}… (${text.length} characters)` : text;
}

/** One line for each skipped operation, with the number of its cases and the reason. */
export function skipReport(replayed: Replayed[]): string[] {
  const counts = new Map<string, { label: string; count: number; reason: string }>();
  for (const { suite, specCase, verdict } of replayed) {
    if (verdict.type !== 'skipped') continue;
    const key = JSON.stringify([suite, specCase.op, verdict.reason]);
    const entry = counts.get(key) ?? { label: `${suite} ${specCase.op}`, count: 0, reason: verdict.reason };
    entry.count += 1;
    counts.set(key, entry);
  }
  return [...counts.values()].map(({ label, count, reason }) => `SKIPPED ${label} (${count}): ${reason}`);
}

/** The closing line. */
export function closingLine(replayed: Replayed[], brokenFiles: number): string {
  const count = (type: Replayed['verdict']['type']): number => replayed.filter(({ verdict }) => verdict.type === type).length;
  return `${count('passed')} passed, ${count('failed') + brokenFiles} failed, ${count('skipped')} skipped`;
}
