import { finalText, type FinalTextOptions, type Scratchpad, truncateOutput } from './code.ts';
import { type ContentItem, outputText, type SpilledContent, type ToolCall } from './content.ts';
import { defined, type JsonObject, type JsonValue, MAX_JSON_DEPTH, memberPath, TOO_DEEP } from './json.ts';

/** The clock and the randomness of one run: the same code with the same moment sees the same time and the same numbers. */
export interface Moment {
  /** The clock's time during the whole run, in milliseconds since 1970. */
  readonly now: number;
  /** The integer seed of all random numbers of the run. */
  readonly seed: number;
}

/** A tool that code can call as a function. */
export interface CodeTool {
  /** The name of the function in the code. */
  readonly name: string;
  /** The names of its parameters, in positional order. */
  readonly parameters: readonly string[];
}

/** A tool call made by code. */
export interface CodeCall {
  /** The name of the tool that the code calls. */
  readonly tool: string;
  /** The arguments as JSON, not yet checked. */
  readonly arguments: JsonObject;
}

/** The outcome of a call for the code: the return value, or the message of the thrown error. */
export type CodeCallResult = { readonly value: JsonValue } | { readonly error: string };

/** The part of a run up to its end, or up to the point where it needs the results of calls. */
export type Segment =
  /** `output` is the text printed by this segment. All calls are pending together. */
  | {
      readonly type: 'calls';
      readonly calls: readonly CodeCall[];
      readonly output: string;
      readonly durationMs: number;
      /** Bytes used by the code's values, if the executor reports them. */
      readonly memoryUsedBytes?: number;
    }
  /** The result's output is the whole run's output. */
  | { readonly type: 'ended'; readonly result: ExecutionResult; readonly durationMs: number };

/**
 * Runs code written by a model. Names declared by a run are available in the next one. A run that was killed, or that exceeded its time or
 * memory, leaves no reliable state: all names are lost, and the next run, which begins with an empty namespace, reports it in `emptiedBy`.
 */
export interface Executor {
  /** Runs code without tool calls. Never rejects for anything that the code does. Throws a `UsageError` while other code runs. */
  run(code: string, moment: Moment): Promise<ExecutionResult>;
  /** Runs code up to its first tool calls, or to its end. Never rejects for anything that the code does. */
  begin(code: string, moment: Moment): Promise<Segment>;
  /** Continues a run that waits for calls: `results` has one entry per call, in order. */
  resume(results: readonly CodeCallResult[]): Promise<Segment>;
  /** Ends the run in progress immediately. Does nothing if no code runs. */
  kill(): Promise<void>;
  /** Sets a name for all later runs. Throws a `UsageError` for a value that is not JSON. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. The next run starts with an empty namespace. */
  reset(): Promise<void>;
  /** Ends the run in progress and frees all resources. The executor cannot be used again. */
  close(): Promise<void>;
  /** Returns all names and values between two runs as bytes for `restore`. Absent: not supported. */
  checkpoint?(): Promise<Uint8Array>;
  /** Replaces all names and values by a checkpoint from an executor of the same version, tools and limits. */
  restore?(checkpoint: Uint8Array): Promise<void>;
}

export type { Scratchpad };

/** The kinds of errors of a run. The code causes all of them except `killed` (the caller) and `protocol` (the executor). */
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

/** Why a model's code failed. @useDeclaredType */
export type ExecutionErrorKind = (typeof EXECUTION_ERROR_KINDS)[number];

/** Kinds of errors that leave the names and values of the code in an unknown state: they are lost. */
export const EMPTYING_ERROR_KINDS: ReadonlySet<ExecutionErrorKind> = new Set(['timeout', 'memory', 'killed', 'protocol']);

/** Explains why a run failed. */
export interface ExecutionError {
  /** Why the cell failed. */
  readonly kind: ExecutionErrorKind;
  /** The text for the model: the error of the code, or the limit that it exceeded. */
  readonly message: string;
}

/** A name declared by code: its type, and its value as JSON unless it has none or is too large. */
export interface NamespaceEntry {
  /** The type of the value: its `typeof` in JavaScript, the name of its class in Python. */
  readonly type: string;
  /** The value as JSON. Absent if it has none or is too large. */
  readonly value?: JsonValue;
}

/** The outcome of one run of code. */
export interface ExecutionResult {
  /** The printed text, trimmed. */
  readonly output: string;
  /** True if the run succeeded and called `final_answer`. */
  readonly isFinal: boolean;
  /** The argument of the last call of `final_answer`, or null. Null is also a valid answer. */
  readonly finalValue: JsonValue;
  /** Null if the code ended without an error. */
  readonly error: ExecutionError | null;
  /** True if the time limit was exceeded. */
  readonly timeout: boolean;
  /** Milliseconds that the code ran, excluding waits for tools. */
  readonly durationMs: number;
  /** Bytes used by the code's values at the end. 0 if the executor does not report them. */
  readonly memoryUsedBytes: number;
  /** The names declared by this run and earlier runs; empty after a failed run. */
  readonly namespace: Readonly<Record<string, NamespaceEntry>>;
  /** True without an error or timeout. */
  readonly success: boolean;
  /**
   * The kind of error that made an earlier run lose all names, if this is the first run since then: it began with an empty namespace. Null
   * if it began with the names of earlier runs.
   */
  readonly emptiedBy: ExecutionErrorKind | null;
  /** The scratchpad after the run, if the executor has one. A failed run changes it too, unless it was killed. */
  readonly scratchpad?: Scratchpad;
}

/** The measured values of a run, however it ended. */
export interface ExecutionFigures {
  /** The printed text, as far as it was kept. */
  output: string;
  durationMs: number;
  memoryUsedBytes: number;
  scratchpad?: Scratchpad | undefined;
  emptiedBy?: ExecutionErrorKind | null | undefined;
}

/** The other values of a run that reached its end. */
interface CompletedExecution extends ExecutionFigures {
  /** The last final answer of the run, wrapped in an object because null is an answer. */
  finalAnswer?: { value: JsonValue } | undefined;
  namespace: Record<string, NamespaceEntry>;
}

/** Creates the result of a run; omitted fields have their defaults. */
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

/** Returns the result of a run that reached its end. */
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
 * Returns the result of a failed run. It keeps the output, but neither an answer nor the namespace. Without a limit, all of the kept output
 * is returned.
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

/** One segment of a cell, as needed to run it again in a worker without the namespace. */
interface JournalSegment {
  /** The digest of the segment's calls and output, which running it again must reproduce. */
  digest: string;
  /** The names of the tools that it called, in call order, so that they can be reported if the namespace is lost. */
  tools?: string[];
  /** The results of its calls, in order. Absent for the last segment of a cell, and while they are pending. */
  results?: CodeCallResult[];
}

/** One cell, as needed to run it again in a worker without the namespace. */
export interface JournalCell {
  code: string;
  moment: Moment;
  segments: JournalSegment[];
}

/**
 * The cells that made a run's namespace: those that ended by themselves, with or without an error, and the running one. Cells that were
 * killed or exceeded their time or memory are not included.
 */
export interface CodeJournal {
  /** The namespace before the first cell. Absent: it is empty. */
  checkpoint?: SpilledContent;
  cells: JournalCell[];
  /** Names and values of earlier cells are lost: the model must be told why. */
  isLost?: 'too_large' | 'agent_changed';
}

/**
 * Returns the code of a cell: the argument `code` of its call, or else the first fenced block of the text next to the call. `content` is
 * the content of the call's event. Undefined if there is neither, or if the block is blank.
 */
export function cellCode(content: readonly ContentItem[], { arguments: args }: Pick<ToolCall, 'arguments'>): string | undefined {
  const code = Object.hasOwn(args, 'code') ? args['code'] : undefined;
  if (typeof code === 'string') return code;
  const texts = content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : []));
  const block = fencedBlock(texts.join('\n'));
  return block === '' ? undefined : block;
}

/** The language names that a fence may begin with on the line of its code. */
const LANGUAGES = new Set(['python', 'python3', 'py', 'javascript', 'js', 'node', 'mjs', 'typescript', 'ts', 'jsx', 'tsx']);

/**
 * Returns the code of the first fenced block of a text, without the fence's language and without the indentation that all lines share.
 * Returns an empty text for a blank block, and undefined if there is no block or it does not end.
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
  // On the same line as code, only a known language name counts: `x = 1` begins with a word, too.
  return LANGUAGES.has(word.toLowerCase()) && /^\s/.test(block.slice(word.length)) ? block.slice(word.length).trimStart() : block;
}

/** Removes the indentation that all non-blank lines share. */
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
  /** The working memory as text. Empty or absent: none. */
  workingMemory?: string;
}

/** The text for a cell that printed nothing. */
const NO_OUTPUT = '(no output)';

/**
 * Returns the result of a cell as text for an agent that answers with code: the output and the working memory, or the error and the
 * description of each tool whose name occurs in the code.
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

/** The maximum number of names of each kind that the model reads. */
const LISTED_NAMES = 50;

/** Returns names as a list for the model, which says how many more there are. */
export function nameList(names: readonly string[]): string {
  const told = names.slice(0, LISTED_NAMES).join(', ');
  return names.length > LISTED_NAMES ? `${told} and ${names.length - LISTED_NAMES} more` : told;
}

/**
 * Returns the sentence about the calls that code had made when it was ended, or undefined without any. `tools`: the tool of each call;
 * `caller`: the code that made them.
 */
export function madeCallsNote(tools: readonly string[], caller = 'this code has'): string | undefined {
  const counts = new Map<string, number>();
  for (const name of tools) counts.set(name, (counts.get(name) ?? 0) + 1);
  const made = [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  return made.length === 0 ? undefined : `Calls that ${caller} made, which are not undone: ${nameList(made)}.`;
}

/** Returns a note for the model about lost names and values, or undefined. The names from before a killed cell are restored. */
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

/** Returns why a value is not JSON, with the path of the first invalid member; undefined for JSON. Runs no getters. */
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
