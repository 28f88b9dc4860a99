import type { PruneStrategy } from './content.ts';
import { UsageError } from './errors.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { shortened, utf8Length, utf8Prefix, shownValue } from './text.ts';

/** The kinds of executors. */
export type ExecutorKind = 'quickjs' | 'python' | 'custom' | 'in_process';

/** The languages of code. */
export type CodeLanguage = 'javascript' | 'python';

/** The maximum time limit of an executor: a timer cannot wait much longer. */
export const MAX_TIMEOUT_SECONDS = 2_000_000;

/**
 * An executor as pinned for a run. It does not include the command of a `custom` executor or the function of an `inProcess` one: these are
 * in the worker's definition.
 */
export interface ExecutorSnapshot {
  /** `quickjs`, `python`, `in_process`, or `custom` for an executor with its own command. */
  kind: ExecutorKind;
  /** The language of the code. */
  language: CodeLanguage;
  /** The limits of a run of code: time, memory, output, and the number of runs. */
  limits: ExecutionLimits;
  /** Names of modules that code may import. */
  allowedImports: string[];
}

/** How an agent runs code, as pinned for a run. */
export interface CodeSnapshot {
  /** Where cells run, with its limits. */
  executor: ExecutorSnapshot;
  /** `local`: segments run inside the workflow task. */
  tier: 'local' | 'remote';
  /** The values that code has as variables from the start. */
  injected?: JsonObject;
  /** For an agent that answers with code: the rule for shortening the model's conversation. Absent: the last 5 steps are kept. */
  prune?: PruneStrategy;
}

/** The limits of code that an executor runs. */
export interface ExecutionLimits {
  /** Seconds that one run may take. Zero or less: no time limit. */
  readonly timeoutSeconds: number;
  /** Megabytes (1,048,576 bytes each) that the code and its values may use. */
  readonly maxMemoryMb: number;
  /** Maximum UTF-8 bytes of a run's output, including a failed run's. */
  readonly maxOutputBytes: number;
  /** The number of runs that an agent may request. An executor does not count them. */
  readonly maxSteps: number;
}

export const DEFAULT_EXECUTION_LIMITS: ExecutionLimits = {
  timeoutSeconds: 30,
  maxMemoryMb: 256,
  maxOutputBytes: 10_000,
  maxSteps: 10,
};

/** Fills in the default limits. Throws a `UsageError` for an invalid limit. */
export function executionLimits(given: Partial<ExecutionLimits> = {}): ExecutionLimits {
  const limits = { ...DEFAULT_EXECUTION_LIMITS, ...given };
  if (!Number.isFinite(limits.timeoutSeconds)) throw invalidLimit('timeoutSeconds', limits.timeoutSeconds, 'a number; 0 for no limit');
  for (const name of ['maxMemoryMb', 'maxOutputBytes', 'maxSteps'] as const) {
    if (!Number.isSafeInteger(limits[name]) || limits[name] < 1) throw invalidLimit(name, limits[name], 'a whole number of at least 1');
  }
  return limits;
}

function invalidLimit(name: keyof ExecutionLimits, value: unknown, wanted: string): UsageError {
  return new UsageError(`The limit "${name}" of the executor is ${shownValue(value)}: write ${wanted}`);
}

/** The properties of an executor that affect the text of a final answer. */
export interface FinalTextOptions {
  language: CodeLanguage;
  limits: { maxOutputBytes: number };
}

/**
 * Returns the final answer of code as text, cut to the output limit: a text unchanged, another value as JSON, or as Python writes it for
 * Python.
 */
export function finalText(value: JsonValue, { language, limits }: FinalTextOptions): string {
  const text = typeof value === 'string' ? value : language === 'python' ? codeLiteral(value, language) : JSON.stringify(value);
  return truncateOutput(text, limits.maxOutputBytes).text;
}

/** Marks an output that was cut. */
const TRUNCATION_MARKER = '\n[OUTPUT TRUNCATED]';

/** Cuts a text to `maxBytes` of UTF-8 without splitting a character, and marks the cut. */
export function truncateOutput(text: string, maxBytes: number): { text: string; truncated: boolean } {
  if (utf8Length(text) <= maxBytes) return { text, truncated: false };
  return { text: utf8Prefix(text, maxBytes) + TRUNCATION_MARKER, truncated: true };
}

/** The constants that the languages write differently. */
const CONSTANT_NAMES: Readonly<Record<CodeLanguage, { null: string; true: string; false: string }>> = {
  javascript: { null: 'null', true: 'true', false: 'false' },
  python: { null: 'None', true: 'True', false: 'False' },
};

/** Returns a value as a literal of the language: `[1, 'two', {'three': None}]` in Python. */
export function codeLiteral(value: JsonValue, language: CodeLanguage): string {
  if (value === null) return CONSTANT_NAMES[language].null;
  switch (typeof value) {
    case 'boolean':
      return value ? CONSTANT_NAMES[language].true : CONSTANT_NAMES[language].false;
    case 'number':
      return String(value);
    case 'string':
      return stringLiteral(value, language);
    default:
      return Array.isArray(value)
        ? `[${value.map((item) => codeLiteral(item, language)).join(', ')}]`
        : `{${Object.entries(value)
            .map(([key, member]) => `${stringLiteral(key, language)}: ${codeLiteral(member, language)}`)
            .join(', ')}}`;
  }
}

/** Puts a text in single quotes, or in double quotes if it contains only single quotes. */
function stringLiteral(text: string, language: CodeLanguage): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll(/[\\'\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu, (character) => escapedCharacter(character, quote, language));
  return quote + escaped + quote;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes a character that would end the text or be invisible to a reader. */
function escapedCharacter(character: string, quote: string, language: CodeLanguage): string {
  if (character === ' ') return character;
  if (character === "'") return quote === "'" ? "\\'" : "'";
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${digits.padStart(4, '0')}`;
  return language === 'python' ? `\\U${digits.padStart(8, '0')}` : `\\u{${digits}}`;
}

/** The working memory of an agent that answers with code. It is part of the state of the run. */
export interface Scratchpad {
  /** The values that code has stored, by name, in the order in which the names were first stored. */
  readonly values: JsonObject;
  /** The outputs of earlier cells, in order. */
  readonly observations: readonly string[];
  /** The approaches that failed. */
  readonly failed: readonly string[];
}

export const EMPTY_SCRATCHPAD: Scratchpad = { values: {}, observations: [], failed: [] };

/** Stores a value under a name, replacing an earlier value. */
export function withStoredValue(scratchpad: Scratchpad, name: string, value: JsonValue): Scratchpad {
  // Object.fromEntries defines every key, including `__proto__`, which an assignment would not.
  return { ...scratchpad, values: Object.fromEntries([...Object.entries(scratchpad.values), [name, value]]) };
}

/** Returns the value stored under a name, or `otherwise`. */
export function storedValue({ values }: Scratchpad, name: string, otherwise: JsonValue = null): JsonValue {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : otherwise;
}

/** Adds an observation. */
export function withObservation(scratchpad: Scratchpad, observation: string): Scratchpad {
  return { ...scratchpad, observations: [...scratchpad.observations, observation] };
}

/** Adds an approach that failed. */
export function withFailedApproach(scratchpad: Scratchpad, approach: string): Scratchpad {
  return { ...scratchpad, failed: [...scratchpad.failed, approach] };
}

/** The maximum characters of a stored value that are shown to the model. */
const VALUE_LENGTH = 100;

/** Returns the working memory as the model reads it, or an empty text if it is empty. */
export function scratchpadContext({ values, observations, failed }: Scratchpad, language: CodeLanguage): string {
  const lines = [
    ...memorySection(
      'Stored Values',
      Object.entries(values).map(([name, value]) => `${name}: ${shortened(codeLiteral(value, language), VALUE_LENGTH)}`),
    ),
    ...memorySection('Observations', observations),
    ...memorySection('Failed Approaches (avoid these)', failed),
  ];
  return lines.length === 0 ? '' : ['## Working Memory', ...lines].join('\n');
}

function memorySection(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : ['', `### ${title}`, ...entries.map((entry) => `- ${entry}`)];
}

/** The origin of a final answer: the steps of the run, or the attempt after the last step. */
type AnswerSource = 'normal' | 'final_attempt';

interface FinalAnswer {
  readonly value: JsonValue;
  readonly source: AnswerSource;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly metadata: JsonObject;
}

/** Thrown when a run that already has a final answer gives another one. */
export class MultipleFinalAnswers extends UsageError {
  /** The answer that was already set. */
  readonly first: JsonValue;
  /** The answer that was refused. */
  readonly attempted: JsonValue;

  constructor(first: JsonValue, attempted: JsonValue) {
    super('Final answer already set. Each execution can only have one final answer.');
    this.first = first;
    this.attempted = attempted;
  }
}

/** Holds the final answer of a run, which is set once. */
export class Finalizer {
  private answer: FinalAnswer | undefined;

  /** `answer`: the answer that is already set. */
  constructor(answer?: FinalAnswer) {
    this.answer = answer;
  }

  /** Sets the answer. Throws `MultipleFinalAnswers` if an answer (possibly null) is already set. The caller supplies the time. */
  set(
    value: JsonValue,
    { now, source = 'normal', metadata = {} }: { now: number; source?: AnswerSource; metadata?: JsonObject },
  ): FinalAnswer {
    if (this.answer !== undefined) throw new MultipleFinalAnswers(this.answer.value, value);
    this.answer = { value, source, timestamp: now, metadata };
    return this.answer;
  }

  /** Returns the answer, or undefined if none is set. */
  get(): FinalAnswer | undefined {
    return this.answer;
  }

  isSet(): boolean {
    return this.answer !== undefined;
  }

  /** Forgets the answer, so that another one can be set. */
  reset(): void {
    this.answer = undefined;
  }
}
