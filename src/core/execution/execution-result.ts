import type { Scratchpad } from '../domain/code/scratchpad.ts';
import type { JsonValue } from '../domain/json/json.ts';
import { truncateOutput } from './output.ts';

export type { Scratchpad };

/** The kinds of errors of a run. The code causes all of them but `killed` (the caller) and `protocol` (the executor). */
export const EXECUTION_ERROR_KINDS = [
  'import_not_allowed',
  'syntax',
  'undefined_name',
  'runtime',
  'timeout',
  'memory',
  'killed',
  'protocol',
] as const;

export type ExecutionErrorKind = (typeof EXECUTION_ERROR_KINDS)[number];

/** Kinds of errors after which nothing can be said of the names and values that the code has left: they are lost. */
export const EMPTYING_ERROR_KINDS: ReadonlySet<ExecutionErrorKind> = new Set(['timeout', 'memory', 'killed', 'protocol']);

/** Explains why a run failed. */
export interface ExecutionError {
  readonly kind: ExecutionErrorKind;
  readonly message: string;
}

/** A name that the code has declared: its `typeof`, and its value as JSON writes it, unless it has none or is too large. */
export interface NamespaceEntry {
  readonly type: string;
  readonly value?: JsonValue;
}

/** The outcome of one run of code. */
export interface ExecutionResult {
  /** The printed text, without blank space around it. */
  readonly output: string;
  /** True if the run succeeded and called `final_answer`. */
  readonly isFinal: boolean;
  /** The argument of the last call of `final_answer`; null without one, and null is also a valid answer. */
  readonly finalValue: JsonValue;
  readonly error: ExecutionError | null;
  /** True if the time ran out. */
  readonly timeout: boolean;
  readonly durationMs: number;
  readonly memoryUsedBytes: number;
  /** The names that this run and those before it have declared; empty after a failed run. */
  readonly namespace: Readonly<Record<string, NamespaceEntry>>;
  /** True without error and time-out. */
  readonly success: boolean;
  /**
   * The kind of the error by which an earlier run lost all names, if this run is the first one since: it began with an empty
   * namespace. Null if it began with the names of the runs before.
   */
  readonly emptiedBy: ExecutionErrorKind | null;
  /** The scratchpad after the run, if the executor has one: a failed run changes it too, unless it was ended. */
  readonly scratchpad?: Scratchpad;
}

/** The measured part of a run, however it ended. */
export interface ExecutionFigures {
  /** The printed text, as far as it was kept. */
  output: string;
  durationMs: number;
  memoryUsedBytes: number;
  scratchpad?: Scratchpad | undefined;
  emptiedBy?: ExecutionErrorKind | null | undefined;
}

/** The rest of a run that reached its end. */
export interface CompletedExecution extends ExecutionFigures {
  /** The last final answer of the run, in an object because null is an answer. */
  finalAnswer?: { value: JsonValue } | undefined;
  namespace: Record<string, NamespaceEntry>;
}

/** Makes a result of a run; each field that is not given has its default. */
export function newExecutionResult(fields: Partial<Omit<ExecutionResult, 'success'>> = {}): ExecutionResult {
  const { error = null, timeout = false } = fields;
  return {
    output: '',
    isFinal: false,
    finalValue: null,
    durationMs: 0,
    memoryUsedBytes: 0,
    namespace: {},
    emptiedBy: null,
    ...fields,
    error,
    timeout,
    success: error === null && !timeout,
  };
}

/** The result of a run that reached its end. */
export function succeeded(run: CompletedExecution, maxOutputBytes: number): ExecutionResult {
  return newExecutionResult({
    output: truncateOutput(run.output.trim(), maxOutputBytes).text,
    isFinal: run.finalAnswer !== undefined,
    finalValue: run.finalAnswer?.value ?? null,
    durationMs: run.durationMs,
    memoryUsedBytes: run.memoryUsedBytes,
    namespace: run.namespace,
    emptiedBy: run.emptiedBy ?? null,
    ...(run.scratchpad === undefined ? {} : { scratchpad: run.scratchpad }),
  });
}

/**
 * The result of a run that failed: it keeps its output, and neither an answer nor its namespace. Without a limit the output is as long as
 * it was kept.
 */
export function failed(run: ExecutionFigures, error: ExecutionError, maxOutputBytes = Infinity): ExecutionResult {
  return newExecutionResult({
    output: truncateOutput(run.output.trim(), maxOutputBytes).text,
    error,
    timeout: error.kind === 'timeout',
    durationMs: run.durationMs,
    memoryUsedBytes: run.memoryUsedBytes,
    emptiedBy: run.emptiedBy ?? null,
    ...(run.scratchpad === undefined ? {} : { scratchpad: run.scratchpad }),
  });
}
