import { PYTHON_KEYWORDS } from '../../../src/core/code/callable-tools.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import {
  type CodeCallResult,
  EMPTYING_ERROR_KINDS,
  type ExecutionErrorKind,
  type ExecutionResult,
  type Executor,
  injectionProblem,
  type Moment,
  type Scratchpad,
  type Segment,
} from '../../../src/core/domain/execution.ts';
import type { ExecutorDefinition } from '../../../src/define/code.ts';
import { isVariableName, MAX_CODE_LENGTH, MAX_INJECTED_LENGTH } from '../frames.ts';
import { codeTooLong, emptyScratchpad, type Provided, readScratchpad, resultOf, resultsText } from '../results.ts';
import {
  CellProcess,
  type ProcessDefinition,
  processSettings,
  type ProcessSettings,
  type Program,
  type SegmentEnding,
} from './cell-process.ts';

/** A cell that has begun and not ended. */
interface Cell {
  /** Milliseconds and characters of output of the segments that have ended. */
  spentMs: number;
  outputLength: number;
  /** The number of calls that it waits for; 0 while it runs. */
  waitsFor: number;
  /** The kind of error that lost the names before it. */
  emptiedBy: ExecutionErrorKind | undefined;
}

/** Runs code in a process, which is started with the first run. There are no checkpoints: the cells have to be run again. */
export class ProcessExecutor implements Executor {
  private readonly program: () => Program;
  private readonly limits: ExecutionLimits;
  private readonly settings: ProcessSettings;
  private readonly injections: Injections;
  private process: CellProcess | undefined;
  private cell: Cell | undefined;
  /** The kind of error that lost all names, until the next run says so. */
  private ended: ExecutionErrorKind | undefined;
  private isClosed = false;
  private scratchpad = emptyScratchpad();

  constructor(program: () => Program, definition: ProcessDefinition, provided: Provided) {
    this.program = program;
    this.limits = definition.limits;
    this.settings = processSettings(definition, provided);
    this.injections = new Injections(this.settings);
  }

  async run(code: string, moment: Moment): Promise<ExecutionResult> {
    const segment = await this.start(code, moment, false);
    if (segment.type === 'ended') return segment.result;
    // Only a process that lies asks for calls here.
    await this.end('protocol');
    const error = { type: 'failed', kind: 'protocol', message: 'The process called tools, which it may not' } as const;
    const { output, durationMs } = segment;
    return resultOf({ ...error, durationMs, memoryUsedBytes: 0 }, { output, durationMs, scratchpad: this.keptScratchpad }, this.limits);
  }

  begin(code: string, moment: Moment): Promise<Segment> {
    return this.start(code, moment, true);
  }

  async resume(results: readonly CodeCallResult[]): Promise<Segment> {
    const { process, cell } = this;
    if (process === undefined || cell === undefined || cell.waitsFor === 0) {
      throw new UsageError('No code waits for calls: call begin() first');
    }
    const text = resultsText(results, cell.waitsFor);
    cell.waitsFor = 0;
    return this.segment(process, cell, await process.resume(text));
  }

  async kill(): Promise<void> {
    if (this.cell !== undefined) await this.end('killed');
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

  private async start(code: string, moment: Moment, mayCall: boolean): Promise<Segment> {
    this.refuseDuringRun(mayCall ? 'begin' : 'run');
    this.refuseAfterClose();
    checkMoment(moment);
    if (code.length > MAX_CODE_LENGTH) return { type: 'ended', result: codeTooLong(code, this.keptScratchpad), durationMs: 0 };
    const emptiedBy = this.ended;
    this.ended = undefined;
    if (emptiedBy !== undefined) this.scratchpad = emptyScratchpad();
    this.process ??= new CellProcess(this.program(), this.settings);
    const { process } = this;
    const cell: Cell = { spentMs: 0, outputLength: 0, waitsFor: 0, emptiedBy };
    this.cell = cell;
    const { now, seed } = moment;
    return this.segment(process, cell, await process.run({ type: 'run', code, now, seed, injected: this.injections.take(), mayCall }));
  }

  private async segment(process: CellProcess, cell: Cell, ending: SegmentEnding): Promise<Segment> {
    const { durationMs } = ending;
    cell.spentMs += durationMs;
    if (ending.type === 'calls') {
      const output = process.output.slice(cell.outputLength);
      cell.outputLength = process.output.length;
      cell.waitsFor = ending.calls.length;
      return { type: 'calls', calls: ending.calls, output, durationMs };
    }
    if (this.cell === cell) this.cell = undefined;
    if (ending.type === 'failed' && EMPTYING_ERROR_KINDS.has(ending.kind) && this.process === process) await this.end(ending.kind);
    this.scratchpad = readScratchpad(ending.scratchpad) ?? this.scratchpad;
    const { emptiedBy, spentMs } = cell;
    const figures = { output: process.output, durationMs: spentMs, scratchpad: this.keptScratchpad, emptiedBy };
    return { type: 'ended', result: resultOf(ending, figures, this.limits), durationMs };
  }

  private get keptScratchpad(): Scratchpad | undefined {
    return this.settings.scratchpad ? this.scratchpad : undefined;
  }

  private async end(kind: ExecutionErrorKind): Promise<void> {
    const { process } = this;
    this.ended = kind;
    this.process = undefined;
    this.cell = undefined;
    this.injections.clear();
    await process?.terminate({ kind, message: 'The run was killed' });
  }

  private refuseAfterClose(): void {
    if (this.isClosed) throw new UsageError('The executor is closed: make another one');
  }

  private refuseDuringRun(called: string): void {
    if (this.cell !== undefined && this.cell.waitsFor > 0) {
      throw new UsageError(`The code waits for the results of calls: call resume() or kill() before ${called}()`);
    }
    if (this.cell !== undefined) {
      throw new UsageError(`The executor is running code: wait for its end, or call kill(), before ${called}()`);
    }
  }
}

function checkMoment({ now, seed }: Moment): void {
  if (!Number.isFinite(now) || now < 0) throw new UsageError(`The moment of a run has now ${now}: write milliseconds since 1970`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`The moment of a run has seed ${seed}: write a whole number`);
}

const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const SCRATCHPAD = ['store', 'recall', 'observe', 'memory', 'uncertain', 'explore', 'commit'];

/** Values that the next run of a process gets as names, as JSON. */
class Injections {
  private readonly language: ProcessSettings['language'];
  /** Names that an executor gives to code. */
  private readonly provided: ReadonlySet<string>;
  private values = new Map<string, string>();

  constructor({ language, tools, scratchpad }: Pick<ProcessSettings, 'language' | 'tools' | 'scratchpad'>) {
    const names = tools.map(({ name }) => name);
    const besides = language === 'python' ? ['tools', 'gather', 'ToolError'] : ['tools'];
    this.language = language;
    this.provided = new Set([
      'print',
      'final_answer',
      ...(language === 'python' ? ['__builtins__', '__name__'] : ['console']),
      ...(names.length === 0 ? [] : [...besides, ...names]),
      ...(scratchpad ? SCRATCHPAD : []),
    ]);
  }

  add(name: string, value: JsonValue): void {
    const isName = this.language === 'python' ? IDENTIFIER.test(name) && !PYTHON_KEYWORDS.has(name) : isVariableName(name);
    if (!isName) throw new UsageError(`"${name}" cannot be injected: it is no name of a variable`);
    if (this.provided.has(name)) throw new UsageError(`"${name}" cannot be injected: the executor has a function of this name`);
    const problem = injectionProblem(value, name);
    if (problem !== undefined) throw new UsageError(`"${name}" cannot be injected: ${problem}. Inject JSON alone`);
    const values = new Map(this.values).set(name, JSON.stringify(value));
    const length = [...values.values()].reduce((sum, json) => sum + json.length, 0);
    if (length > MAX_INJECTED_LENGTH) {
      throw new UsageError(
        `"${name}" cannot be injected: with it the values have ${length} characters of JSON, more than ${MAX_INJECTED_LENGTH}`,
      );
    }
    this.values = values;
  }

  /** Returns names and the JSON of their values, and forgets them. */
  take(): [string, string][] {
    const taken = [...this.values];
    this.clear();
    return taken;
  }

  clear(): void {
    this.values.clear();
  }
}

/** The variables of the worker's environment that a program of the operator gets: those by which it finds other programs. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'XDG_RUNTIME_DIR', 'DOCKER_HOST'];

/** Makes an executor of a program of the operator, which starts with the first run. The program alone isolates the code. */
export function customExecutor(definition: ExecutorDefinition, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports, language } = definition;
  return new ProcessExecutor(() => operatorsProgram(definition), { language, limits: executionLimits(limits), allowedImports }, provided);
}

/** The program of a definition. Throws a UsageError for a definition that has none. */
export function operatorsProgram({ command }: Pick<ExecutorDefinition, 'command'>): Program {
  const [file, ...args] = command ?? [];
  if (file === undefined) throw new UsageError('The executor "custom" has no command: make it with custom({command: […], language: …})');
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { file, args, env: Object.fromEntries(passed) };
}

/** Checks that the program of the operator can be started, and runs an empty cell. Throws a UsageError. */
export async function checkCustom(definition: ExecutorDefinition): Promise<void> {
  const executor = customExecutor(definition);
  try {
    const { error } = await executor.run('', { now: 0, seed: 0 });
    if (error === null) return;
    throw new UsageError(
      `the executor "custom" cannot run code: ${JSON.stringify(definition.command)} failed on an empty cell: ${error.message}. Correct "command", or install it on this machine`,
    );
  } finally {
    await executor.close();
  }
}
