import { PYTHON_KEYWORDS } from '../../src/core/code/callable-tools.ts';
import type { CodeLanguage, ExecutionLimits } from '../../src/core/domain/code.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import {
  type CodeCallResult,
  type CodeTool,
  EMPTYING_ERROR_KINDS,
  type ExecutionErrorKind,
  type ExecutionFigures,
  type ExecutionResult,
  type Executor,
  failed,
  injectionProblem,
  type Moment,
  type NamespaceEntry,
  type Scratchpad,
  type Segment,
  succeeded,
} from '../../src/core/domain/execution.ts';
import { isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import {
  type EndFrame,
  isVariableName,
  MAX_CODE_LENGTH,
  MAX_INJECTED_LENGTH,
  MAX_OUTPUT_LENGTH,
  type RunFrame,
  type ThreadFrame,
  type ThreadSettings,
} from './frames.ts';

/** The end of a segment: reported by the host, or caused by the end of the host. */
export type SegmentEnding = Extract<ThreadFrame, { type: 'calls' }> | EndFrame;

/** Runs the segments of a cell: a thread or a process. None of its methods rejects. */
export interface CellHost {
  /** The text that the current cell has printed, as far as it has arrived. */
  readonly output: string;
  /** Runs a cell up to its first calls, or to its end. */
  run(frame: RunFrame): Promise<SegmentEnding>;
  /** Continues the cell, with the JSON of the results of its calls. */
  resume(results: string): Promise<SegmentEnding>;
}

/** A cell that has begun and not ended. */
interface Cell {
  /** Undefined until the host is open. */
  host: CellHost | undefined;
  /** Milliseconds and characters of output of the segments that have ended. */
  spentMs: number;
  outputLength: number;
  /** The number of calls that it waits for; 0 while it runs. */
  waitsFor: number;
  /** The kind of error that lost the names before it. */
  emptiedBy: ExecutionErrorKind | undefined;
}

/** Runs cells sequentially, each in segments. Subclasses decide where they run, and what is kept between two cells. */
export abstract class CellExecutor implements Executor {
  protected readonly injections: Injections;
  protected cell: Cell | undefined;
  /** The kind of error that lost all names, until the next run says so. */
  protected ended: ExecutionErrorKind | undefined;
  protected scratchpad = emptyScratchpad();
  private readonly limits: ExecutionLimits;
  private readonly hasScratchpad: boolean;
  private isClosed = false;

  constructor(language: CodeLanguage, limits: ExecutionLimits, settings: ThreadSettings) {
    this.limits = limits;
    this.hasScratchpad = settings.scratchpad;
    this.injections = new Injections(language, settings);
  }

  /** Returns the host of the next cell; undefined if it has ended meanwhile. */
  protected abstract openHost(): CellHost | undefined | Promise<CellHost | undefined>;
  /** Ends the host of the code. The next run begins without names. */
  protected abstract endHost(kind: ExecutionErrorKind): Promise<void>;

  async run(code: string, moment: Moment): Promise<ExecutionResult> {
    const segment = await this.start(code, moment, false);
    if (segment.type === 'ended') return segment.result;
    // Only a misbehaving process asks for calls here.
    await this.end('protocol');
    const error = { type: 'failed', kind: 'protocol', message: 'The process called tools, which it may not' } as const;
    const { output, durationMs } = segment;
    return resultOf({ ...error, durationMs, memoryUsedBytes: 0 }, { output, durationMs, scratchpad: this.keptScratchpad }, this.limits);
  }

  begin(code: string, moment: Moment): Promise<Segment> {
    return this.start(code, moment, true);
  }

  async resume(results: readonly CodeCallResult[]): Promise<Segment> {
    const { cell } = this;
    if (cell?.host === undefined || cell.waitsFor === 0) throw new UsageError('No code waits for calls: call begin() first');
    const text = resultsText(results, cell.waitsFor);
    cell.waitsFor = 0;
    return this.segment(cell, await cell.host.resume(text));
  }

  async kill(): Promise<void> {
    if (this.isBusy) await this.end('killed');
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.end('killed');
  }

  inject(name: string, value: JsonValue): void {
    this.refuseDuringRun('inject');
    this.injections.add(name, value);
  }

  async reset(): Promise<void> {
    this.refuseDuringRun('reset');
    this.refuseAfterClose();
    await this.end('killed');
    this.scratchpad = emptyScratchpad();
    this.ended = undefined;
  }

  /** True while nothing else may begin. */
  protected get isBusy(): boolean {
    return this.cell !== undefined;
  }

  protected async end(kind: ExecutionErrorKind): Promise<void> {
    this.ended = kind;
    this.cell = undefined;
    this.injections.clear();
    await this.endHost(kind);
  }

  /** Called when a cell has ended and its names are kept. */
  protected rest(_ending: EndFrame): void {
    // By default a host waits for its next cell.
  }

  protected refuseAfterClose(): void {
    if (this.isClosed) throw new UsageError('The executor is closed: make another one');
  }

  protected refuseDuringRun(called: string): void {
    if (this.cell !== undefined && this.cell.waitsFor > 0) {
      throw new UsageError(`The code waits for the results of calls: call resume() or kill() before ${called}()`);
    }
    if (this.isBusy) throw new UsageError(`The executor is running code: wait for its end, or call kill(), before ${called}()`);
  }

  private async start(code: string, moment: Moment, mayCall: boolean): Promise<Segment> {
    this.refuseDuringRun(mayCall ? 'begin' : 'run');
    this.refuseAfterClose();
    checkMoment(moment);
    if (code.length > MAX_CODE_LENGTH) return { type: 'ended', result: codeTooLong(code, this.keptScratchpad), durationMs: 0 };
    const emptiedBy = this.ended;
    this.ended = undefined;
    if (emptiedBy !== undefined) this.scratchpad = emptyScratchpad();
    const opening = this.openHost();
    const cell: Cell = { host: undefined, spentMs: 0, outputLength: 0, waitsFor: 0, emptiedBy };
    this.cell = cell;
    const injected = this.injections.take();
    cell.host = opening instanceof Promise ? await opening : opening;
    const { now, seed } = moment;
    return this.segment(cell, (await cell.host?.run({ type: 'run', code, now, seed, injected, mayCall })) ?? this.neverBegan());
  }

  private async segment(cell: Cell, ending: SegmentEnding): Promise<Segment> {
    const { durationMs } = ending;
    const printed = cell.host?.output ?? '';
    cell.spentMs += durationMs;
    if (ending.type === 'calls') {
      const output = printed.slice(cell.outputLength);
      cell.outputLength = printed.length;
      cell.waitsFor = ending.calls.length;
      return { type: 'calls', calls: ending.calls, output, durationMs };
    }
    if (this.cell === cell) {
      this.cell = undefined;
      if (ending.type === 'failed' && EMPTYING_ERROR_KINDS.has(ending.kind)) await this.end(ending.kind);
      else this.rest(ending);
    }
    this.scratchpad = readScratchpad(ending.scratchpad) ?? this.scratchpad;
    const { emptiedBy, spentMs } = cell;
    const figures = { output: printed, durationMs: spentMs, scratchpad: this.keptScratchpad, emptiedBy };
    return { type: 'ended', result: resultOf(ending, figures, this.limits), durationMs };
  }

  /** Returns the ending of a cell whose executor ended before it began, or whose memory was not available. */
  private neverBegan(): SegmentEnding {
    const kind = this.ended ?? 'protocol';
    const message = kind === 'killed' ? 'The run was killed' : 'The thread did not start';
    return { type: 'failed', kind, message, durationMs: 0, memoryUsedBytes: 0 };
  }

  private get keptScratchpad(): Scratchpad | undefined {
    return this.hasScratchpad ? this.scratchpad : undefined;
  }
}

/** The settings of a thread or process. Throws a UsageError for a limit that exceeds the frame size. */
export function threadSettings(
  limits: ExecutionLimits,
  allowedImports: readonly string[],
  { tools, scratchpad }: Provided,
): ThreadSettings {
  if (limits.maxOutputBytes > MAX_OUTPUT_LENGTH) {
    throw new UsageError(`The limit "maxOutputBytes" of the executor is ${limits.maxOutputBytes}: write at most ${MAX_OUTPUT_LENGTH}`);
  }
  return {
    timeoutMs: Math.max(0, limits.timeoutSeconds) * 1_000,
    memoryBytes: limits.maxMemoryMb * 1_048_576,
    // One additional character shows that there was more.
    outputLength: keptOutputLength(limits) + 1,
    tools: tools.map(({ name, parameters }) => ({ name, parameters: [...parameters] })),
    scratchpad,
    allowedImports: [...allowedImports],
  };
}

function checkMoment({ now, seed }: Moment): void {
  if (!Number.isFinite(now) || now < 0) throw new UsageError(`The moment of a run has now ${now}: write milliseconds since 1970`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`The moment of a run has seed ${seed}: write a whole number`);
}

const PYTHON_NAME = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const SCRATCHPAD = ['store', 'recall', 'observe', 'memory', 'uncertain', 'explore', 'commit'];

/** The injected values of the next run, as JSON by name. */
class Injections {
  private readonly language: CodeLanguage;
  /** Names that an executor gives to code. */
  private readonly provided: ReadonlySet<string>;
  private values = new Map<string, string>();

  constructor(language: CodeLanguage, { tools, scratchpad }: Pick<ThreadSettings, 'tools' | 'scratchpad'>) {
    const names = tools.map(({ name }) => name);
    const [always, withTools] =
      language === 'python'
        ? [
            ['__builtins__', '__name__'],
            ['tools', 'gather', 'ToolError'],
          ]
        : [['console'], ['tools']];
    this.language = language;
    this.provided = new Set([
      'print',
      'final_answer',
      ...always,
      ...(names.length === 0 ? [] : [...withTools, ...names]),
      ...(scratchpad ? SCRATCHPAD : []),
    ]);
  }

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  add(name: string, value: JsonValue): void {
    const isName = this.language === 'python' ? PYTHON_NAME.test(name) && !PYTHON_KEYWORDS.has(name) : isVariableName(name);
    if (!isName) throw new UsageError(`"${name}" cannot be injected: it is not a variable name`);
    if (this.provided.has(name)) throw new UsageError(`"${name}" cannot be injected: the executor has a function of this name`);
    const problem = injectionProblem(value, name);
    if (problem !== undefined) throw new UsageError(`"${name}" cannot be injected: ${problem}. Inject only JSON`);
    const values = new Map(this.values).set(name, JSON.stringify(value));
    const length = [...values.values()].reduce((sum, json) => sum + json.length, 0);
    if (length > MAX_INJECTED_LENGTH) {
      throw new UsageError(
        `"${name}" cannot be injected: with it the values have ${length} characters of JSON, more than ${MAX_INJECTED_LENGTH}`,
      );
    }
    this.values = values;
  }

  /** Returns the names and the JSON of their values, and clears them. */
  take(): [string, string][] {
    const taken = [...this.values];
    this.clear();
    return taken;
  }

  clear(): void {
    this.values.clear();
  }
}

/** The minimum characters of output that a run keeps: blanks around the text do not count towards its limit. */
const KEPT_OUTPUT_LENGTH = 64_000;

/** The characters of output that a run keeps until it is cut to its limit. */
function keptOutputLength({ maxOutputBytes }: ExecutionLimits): number {
  return Math.max(maxOutputBytes, KEPT_OUTPUT_LENGTH);
}

/** Returns the result of a run, from the last frame of its host. */
function resultOf(
  ending: EndFrame,
  figures: Omit<ExecutionFigures, 'memoryUsedBytes'>,
  { maxOutputBytes }: ExecutionLimits,
): ExecutionResult {
  const run = { ...figures, memoryUsedBytes: ending.memoryUsedBytes };
  if (ending.type === 'failed') return failed(run, { kind: ending.kind, message: ending.message }, maxOutputBytes);
  const finalAnswer = ending.answer === undefined ? undefined : { value: JSON.parse(ending.answer) as JsonValue };
  return succeeded({ ...run, finalAnswer, namespace: namespaceOf(ending) }, maxOutputBytes);
}

function codeTooLong(code: string, scratchpad: Scratchpad | undefined): ExecutionResult {
  const message = `The code has ${code.length} characters, more than ${MAX_CODE_LENGTH}`;
  return failed({ output: '', durationMs: 0, memoryUsedBytes: 0, scratchpad }, { kind: 'syntax', message });
}

/** The scratchpad of an executor that has run nothing. */
export function emptyScratchpad(): Scratchpad {
  return { values: {}, observations: [], failed: [] };
}

/** Reads the JSON of a scratchpad; undefined for anything else. */
export function readScratchpad(json: string | undefined): Scratchpad | undefined {
  const read: unknown = json === undefined ? undefined : JSON.parse(json);
  if (!isJsonObject(read)) return undefined;
  const { values, observations, failed: failures } = read;
  if (values === undefined || !isJsonObject(values) || !isTexts(observations) || !isTexts(failures)) return undefined;
  return { values, observations, failed: failures };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function namespaceOf({ namespace }: Extract<EndFrame, { type: 'done' }>): Record<string, NamespaceEntry> {
  return Object.fromEntries(
    Object.entries(namespace).map(([name, { type, json }]) => [
      name,
      json === undefined ? { type } : { type, value: JSON.parse(json) as JsonValue },
    ]),
  );
}

/** Characters of JSON that the results of one segment may have together. */
const MAX_RESULTS_LENGTH = 4_000_000;

/** Returns the JSON of call results, for the host. A result that does not fit becomes an error of its call. */
function resultsText(results: readonly CodeCallResult[], count: number): string {
  if (results.length !== count) {
    throw new UsageError(
      `The code waits for ${count} calls, and there are ${results.length} results: give one for each call, in their order`,
    );
  }
  let left = MAX_RESULTS_LENGTH;
  const texts = results.map((result) => {
    const text = 'error' in result ? JSON.stringify({ error: result.error }) : JSON.stringify({ value: result.value ?? null });
    if (text.length > left) return JSON.stringify({ error: tooLong(text.length) });
    left -= text.length;
    return text;
  });
  return `[${texts.join()}]`;
}

function tooLong(length: number): string {
  return `The result has ${length} characters of JSON, and code can take ${MAX_RESULTS_LENGTH} for all calls that waited together: ask for less`;
}

/** The functions that code has in addition to the language's. */
export interface Provided {
  /** The tools that code may call by their names. */
  tools: readonly CodeTool[];
  /** True: `store`, `recall`, `observe`, `memory` and the signals `uncertain`, `explore` and `commit`. */
  scratchpad: boolean;
}
