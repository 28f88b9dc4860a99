import { finalText, type FinalTextOptions, type Scratchpad, truncateOutput } from './code.ts';
import { type ContentItem, outputText, type SpilledContent, type ToolCall } from './content.ts';
import { defined, type JsonObject, type JsonValue, MAX_JSON_DEPTH, memberPath, TOO_DEEP } from './json.ts';

/** The clock and the randomness of one run: the same code with the same moment sees the same time and the same numbers. */
export interface Moment {
  /** Milliseconds since 1970 that the clock shows during the whole run. */
  readonly now: number;
  /** A whole number from which all random numbers of the run are made. */
  readonly seed: number;
}

/** A tool that code may call by its name. */
export interface CodeTool {
  /** The name of the function in the code. */
  readonly name: string;
  /** The names of its parameters, in the order of arguments that are given by position. */
  readonly parameters: readonly string[];
}

/** A call of a tool in code. */
export interface CodeCall {
  /** The name of the tool that the code calls. */
  readonly tool: string;
  /** The arguments as JSON, not checked yet. */
  readonly arguments: JsonObject;
}

/** The outcome of a call for the code: the value that it returns, or the message of the error that it throws. */
export type CodeCallResult = { readonly value: JsonValue } | { readonly error: string };

/** The part of a run up to its end, or up to the point at which it needs the results of calls. */
export type Segment =
  /** `output` is the text that this segment printed. All calls are pending together. */
  | {
      readonly type: 'calls';
      readonly calls: readonly CodeCall[];
      readonly output: string;
      readonly durationMs: number;
      /** Bytes that the values of the code take, if the executor can tell. */
      readonly memoryUsedBytes?: number;
    }
  /** The output of the result is that of the whole run. */
  | { readonly type: 'ended'; readonly result: ExecutionResult; readonly durationMs: number };

/**
 * Runs code that a model wrote. Names that a run declares are there for the next one. A run that was killed, or that used up its
 * time or memory, leaves no state that could be relied on: all names are lost, and the next run, which begins with an empty
 * namespace, says so in `emptiedBy`.
 */
export interface Executor {
  /** Runs code that calls no tools. Never rejects for anything that the code does. Throws a `UsageError` while other code runs. */
  run(code: string, moment: Moment): Promise<ExecutionResult>;
  /** Runs code up to the first calls of tools, or to its end. Never rejects for anything that the code does. */
  begin(code: string, moment: Moment): Promise<Segment>;
  /** Continues a run that waits for calls: `results` has one entry for each of them, in their order. */
  resume(results: readonly CodeCallResult[]): Promise<Segment>;
  /** Ends the run in progress, at once. Without one, it changes nothing. */
  kill(): Promise<void>;
  /** Sets a name from the next run on. Throws a `UsageError` for a value that is not JSON. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. The next run starts anew. */
  reset(): Promise<void>;
  /** Ends what runs, and frees everything that the executor holds. It cannot be used again. */
  close(): Promise<void>;
  /** Returns all names and values between two runs as bytes that `restore` takes. Absent: the executor cannot do that. */
  checkpoint?(): Promise<Uint8Array>;
  /** Replaces all names and values by those of a checkpoint of an executor of the same version, tools and limits. */
  restore?(checkpoint: Uint8Array): Promise<void>;
}

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

/** Why code of a model failed. @useDeclaredType */
export type ExecutionErrorKind = (typeof EXECUTION_ERROR_KINDS)[number];

/** Kinds of errors after which nothing can be said of the names and values that the code has left: they are lost. */
export const EMPTYING_ERROR_KINDS: ReadonlySet<ExecutionErrorKind> = new Set(['timeout', 'memory', 'killed', 'protocol']);

/** Explains why a run failed. */
export interface ExecutionError {
  /** Why the cell failed. */
  readonly kind: ExecutionErrorKind;
  /** What the model reads: the error of the code, or the limit that it met. */
  readonly message: string;
}

/** A name that the code has declared: its `typeof`, and its value as JSON writes it, unless it has none or is too large. */
export interface NamespaceEntry {
  /** The type of the value: its `typeof` in JavaScript, the name of its class in Python. */
  readonly type: string;
  /** The value as JSON writes it. Absent if it has none or is too large. */
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
  /** Null if the code ended without an error. */
  readonly error: ExecutionError | null;
  /** True if the time ran out. */
  readonly timeout: boolean;
  /** Milliseconds that the code ran, without waiting for tools. */
  readonly durationMs: number;
  /** Bytes that the values of the code take at the end. 0 if the executor cannot tell. */
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
interface CompletedExecution extends ExecutionFigures {
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
    ...defined({ scratchpad: run.scratchpad }),
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
    ...defined({ scratchpad: run.scratchpad }),
  });
}

/** One segment of a cell, as a worker without the namespace runs it again. */
interface JournalSegment {
  /** The digest of the calls and the output of the segment, which running it again must reproduce. */
  digest: string;
  /** The names of the tools that it called, in the order of the calls, so that they can be told if the namespace is lost. */
  tools?: string[];
  /** The results of its calls, in their order. Absent for the last segment of a cell, and while they are awaited. */
  results?: CodeCallResult[];
}

/** One cell, as a worker without the namespace runs it again. */
export interface JournalCell {
  code: string;
  moment: Moment;
  segments: JournalSegment[];
}

/**
 * The cells that made the namespace of a run: those that ended by themselves, with or without an error, and the one that runs. Cells
 * that were killed or used up their time or memory are not among them.
 */
export interface CodeJournal {
  /** The namespace before the first of the cells. Absent: it is empty. */
  checkpoint?: SpilledContent;
  cells: JournalCell[];
  /** There were cells before, whose names and values are lost: the model has to be told why. */
  isLost?: 'too_large' | 'agent_changed';
}

/**
 * Returns the code of a cell: the argument `code` of its call, or else the first fenced block of the text next to the call.
 * `content` is that of the event of the call. Undefined if there is neither, or if the block is blank.
 */
export function cellCode(content: readonly ContentItem[], { arguments: args }: Pick<ToolCall, 'arguments'>): string | undefined {
  const code = Object.hasOwn(args, 'code') ? args['code'] : undefined;
  if (typeof code === 'string') return code;
  const texts = content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : []));
  const block = fencedBlock(texts.join('\n'));
  return block === '' ? undefined : block;
}

/** The names of languages that a fence may begin with on the line of its code. */
const LANGUAGES = new Set(['python', 'python3', 'py', 'javascript', 'js', 'node', 'mjs', 'typescript', 'ts', 'jsx', 'tsx']);

/**
 * Returns the code of the first fenced block of a text, without the language that the fence may name and without the indentation
 * that all lines share: an empty text for a blank block. Undefined if there is no block, or if it has no end.
 */
export function fencedBlock(text: string): string | undefined {
  const [fence] = /`{3,}/.exec(text) ?? [];
  if (fence === undefined) return undefined;
  const start = text.indexOf(fence) + fence.length;
  const end = text.indexOf(fence, start);
  if (end < 0) return undefined;
  return dedent(withoutLanguage(text.slice(start, end).replaceAll('\r\n', '\n'))).trim();
}

function withoutLanguage(block: string): string {
  const lineEnd = block.indexOf('\n');
  const firstLine = lineEnd < 0 ? block : block.slice(0, lineEnd);
  if (lineEnd >= 0 && /^[\w+#.-]*\s*$/.test(firstLine)) return block.slice(lineEnd + 1);
  const [word = ''] = /^\w*/.exec(firstLine) ?? [];
  // On one line with code, only the name of a language is one: `x = 1` begins with a word, too.
  return LANGUAGES.has(word.toLowerCase()) && /^\s/.test(block.slice(word.length)) ? block.slice(word.length).trimStart() : block;
}

/** Removes the blank space that all lines with text begin with. */
function dedent(block: string): string {
  const lines = block.split('\n').map((line) => (line.trim() === '' ? '' : line));
  const margins = lines.filter((line) => line !== '').map((line) => line.slice(0, line.length - line.trimStart().length));
  const shared = margins.reduce((one, other) => one.slice(0, sharedLength(one, other)), margins[0] ?? '');
  return lines.map((line) => line.slice(shared.length)).join('\n');
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

export interface EndedCell extends FinalTextOptions {
  result: Pick<ExecutionResult, 'output' | 'error' | 'isFinal' | 'finalValue'>;
  code: string;
  /** The tools that code may call. */
  tools: readonly { name: string; description: string }[];
  /** The working memory as text, empty or absent for none. */
  workingMemory?: string;
}

/** The text of a cell that printed nothing. */
const NO_OUTPUT = '(no output)';

/**
 * Returns the result of a cell as text for an agent that answers with code: what the cell printed, with the working memory; or the
 * error, with the description of each tool whose name occurs in the code.
 */
export function cellFeedback({ result, code, tools, workingMemory = '', ...options }: EndedCell): string {
  const { output, error, isFinal, finalValue } = result;
  if (error !== null) return [`Execution error: ${error.message}`, ...docstringHints(code, tools)].join('\n\n');
  const final = isFinal ? [`Final answer: ${finalText(finalValue, options)}`] : [];
  return [output === '' ? NO_OUTPUT : output, ...final, ...(workingMemory === '' ? [] : [workingMemory])].join('\n\n');
}

function docstringHints(code: string, tools: EndedCell['tools']): string[] {
  const names = new Set(code.match(/[\p{L}\p{N}_$]+/gu));
  return tools
    .filter(({ name, description }) => names.has(name) && description !== '')
    .map(({ name, description }) => `Hint - ${name}() docstring:\n${description}`);
}

/** Explains to a model which names and values are lost; undefined if none are. The names before a cell that was ended are made again. */
export function namespaceNote({
  error,
  emptiedBy = null,
}: Pick<ExecutionResult, 'error'> & { emptiedBy?: ExecutionResult['emptiedBy'] }): string | undefined {
  if (error !== null && EMPTYING_ERROR_KINDS.has(error.kind)) {
    return 'Nothing that this code has defined or changed was kept. The names and values of earlier code are as they were before it.';
  }
  if (emptiedBy === null) return undefined;
  return `This code began with an empty namespace, because earlier code ended with "${emptiedBy}": define again what you need.`;
}

/** Explains why a value is not JSON, with the path of the first member that is not; undefined for JSON. Runs no getter. */
export function injectionProblem(value: unknown, path: string, depth = 0): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON has no number for`;
    case 'object':
      if (value === null) return undefined;
      if (depth === MAX_JSON_DEPTH) return `${path} is ${TOO_DEEP}`;
      return Array.isArray(value) ? listProblem(value, path, depth) : objectProblem(value, path, depth);
    default:
      return `${path} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which is not JSON`;
  }
}

function listProblem(list: readonly unknown[], path: string, depth: number): string | undefined {
  for (let index = 0; index < list.length; index += 1) {
    const problem = memberProblem(list, index, memberPath(path, index), depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function objectProblem(object: object, path: string, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype) return `${path} is an object of a class, which is not JSON`;
  for (const key of Reflect.ownKeys(object)) {
    if (typeof key === 'symbol') return `${path} has a member that is named by a symbol, which is not JSON`;
    const problem = memberProblem(object, key, memberPath(path, key), depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function memberProblem(owner: object, key: string | number, path: string, depth: number): string | undefined {
  const member = Object.getOwnPropertyDescriptor(owner, key);
  if (member === undefined) return `${path} is missing, which JSON cannot say`;
  if (member.get !== undefined || member.set !== undefined) return `${path} is computed by a getter, which is not JSON`;
  return injectionProblem(member.value, path, depth + 1);
}
