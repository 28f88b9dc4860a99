import { UsageError } from '../../../src/core/domain/errors.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import {
  type CodeCallResult,
  EMPTYING_ERROR_KINDS,
  type ExecutionError,
  type ExecutionErrorKind,
  type ExecutionResult,
  type Executor,
  injectionProblem,
  type Moment,
  type Scratchpad,
  type Segment,
} from '../../../src/core/domain/execution.ts';
import { codeTooLong, emptyScratchpad, keptOutputLength, type Provided, readScratchpad, resultOf, resultsText } from '../results.ts';
import { CellThread, type SegmentEnding } from './cell-thread.ts';
import {
  isVariableName,
  MAX_CODE_LENGTH,
  MAX_INJECTED_LENGTH,
  MAX_OUTPUT_LENGTH,
  type RestoredFrame,
  type ThreadSettings,
} from '../frames.ts';

/** The part of an executor's definition that is needed here. */
export interface QuickJsDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of modules that code may import. */
  allowedImports?: readonly string[];
}

/** Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a thread of its own. The thread starts with the first run. */
export function quickjsExecutor(definition: QuickJsDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const limits = executionLimits(definition.limits);
  if (limits.maxOutputBytes > MAX_OUTPUT_LENGTH) {
    throw new UsageError(`The limit "maxOutputBytes" of the executor is ${limits.maxOutputBytes}: write at most ${MAX_OUTPUT_LENGTH}`);
  }
  return new QuickJsExecutor(limits, definition.allowedImports ?? [], provided);
}

/** Bytes from which on a memory stays in its thread: to compress it would take longer than it is worth. */
const LARGE_MEMORY_BYTES = 32 * 1_048_576;

/** A cell that has begun and not ended. */
interface Cell {
  memory: CodeMemory;
  /** The thread that runs it; undefined before it is there. */
  thread: CellThread | undefined;
  /** Milliseconds and characters of output of the segments that have ended. */
  spentMs: number;
  outputLength: number;
  /** The number of calls that it waits for; 0 while it runs. */
  waitsFor: number;
  /** The kind of error that lost the names before it. */
  emptiedBy: ExecutionErrorKind | undefined;
}

class QuickJsExecutor implements Executor {
  private readonly limits: ExecutionLimits;
  private readonly settings: ThreadSettings;
  private readonly injections: Injections;
  private memory: CodeMemory;
  /** The memory of the checkpoint that is being restored. */
  private restoring: CodeMemory | undefined;
  private cell: Cell | undefined;
  private isBusy = false;
  /** The kind of error that lost all names, until the next run says so. */
  private ended: ExecutionErrorKind | undefined;
  private isClosed = false;
  private scratchpad = emptyScratchpad();

  constructor(limits: ExecutionLimits, allowedImports: readonly string[], provided: Provided) {
    this.limits = limits;
    this.settings = {
      timeoutMs: Math.max(0, limits.timeoutSeconds) * 1_000,
      memoryBytes: limits.maxMemoryMb * 1_048_576,
      // One character more than may be kept shows that there was more.
      outputLength: keptOutputLength(limits) + 1,
      tools: provided.tools.map(({ name, parameters }) => ({ name, parameters: [...parameters] })),
      scratchpad: provided.scratchpad,
      allowedImports: [...allowedImports],
    };
    this.injections = new Injections(this.settings);
    this.memory = new CodeMemory(this.settings);
  }

  async run(code: string, moment: Moment): Promise<ExecutionResult> {
    const segment = await this.start(code, moment, false);
    if (segment.type === 'ended') return segment.result;
    throw new Error('code that may not call tools has called some');
  }

  begin(code: string, moment: Moment): Promise<Segment> {
    return this.start(code, moment, true);
  }

  async resume(results: readonly CodeCallResult[]): Promise<Segment> {
    const { cell } = this;
    if (cell?.thread === undefined || cell.waitsFor === 0) throw new UsageError('No code waits for calls: call begin() first');
    const text = resultsText(results, cell.waitsFor);
    cell.waitsFor = 0;
    return this.segment(cell, await cell.thread.resume(text));
  }

  async kill(): Promise<void> {
    if (this.cell !== undefined || this.isBusy) await this.end('killed');
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

  checkpoint(): Promise<Uint8Array> {
    return this.exclusively('checkpoint', async () => {
      this.refuseAfterEnd();
      const { memory } = this;
      const resting = this.injections.isEmpty ? await memory.restingCheckpoint() : undefined;
      if (resting !== undefined) return resting;
      const thread = await memory.wake();
      if (thread === undefined) throw new Error('the executor ended before it made the checkpoint');
      const checkpoint = await thread.checkpoint({ type: 'checkpoint', injected: this.injections.take() });
      memory.becomeIdle();
      return checkpoint;
    });
  }

  restore(checkpoint: Uint8Array): Promise<void> {
    return this.exclusively('restore', async () => {
      this.refuseAfterClose();
      const memory = new CodeMemory(this.settings);
      this.restoring = memory;
      const { problem, scratchpad } = await memory.restore(checkpoint);
      this.restoring = undefined;
      if (problem !== undefined) {
        await memory.end({ kind: 'killed', message: problem });
        throw new UsageError(`The checkpoint cannot be restored: ${problem}. Run the cells again instead`);
      }
      await this.end('killed');
      this.injections.clear();
      this.scratchpad = readScratchpad(scratchpad) ?? emptyScratchpad();
      this.memory = memory;
      this.ended = undefined;
      memory.becomeIdle();
    });
  }

  private async start(code: string, moment: Moment, mayCall: boolean): Promise<Segment> {
    this.refuseDuringRun(mayCall ? 'begin' : 'run');
    this.refuseAfterClose();
    checkMoment(moment);
    if (code.length > MAX_CODE_LENGTH) return { type: 'ended', result: codeTooLong(code, this.keptScratchpad), durationMs: 0 };
    const emptiedBy = this.ended;
    this.ended = undefined;
    if (emptiedBy !== undefined) this.scratchpad = emptyScratchpad();
    const cell: Cell = { memory: this.memory, thread: undefined, spentMs: 0, outputLength: 0, waitsFor: 0, emptiedBy };
    this.cell = cell;
    const injected = this.injections.take();
    cell.thread = await cell.memory.wake();
    const { now, seed } = moment;
    return this.segment(cell, (await cell.thread?.run({ type: 'run', code, now, seed, injected, mayCall })) ?? this.neverBegan());
  }

  private async segment(cell: Cell, ending: SegmentEnding): Promise<Segment> {
    const { durationMs } = ending;
    const printed = cell.thread?.output ?? '';
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
      else if (ending.memoryUsedBytes < LARGE_MEMORY_BYTES) cell.memory.becomeIdle();
    }
    this.scratchpad = readScratchpad(ending.scratchpad) ?? this.scratchpad;
    const { emptiedBy, spentMs } = cell;
    const figures = { output: printed, durationMs: spentMs, scratchpad: this.keptScratchpad, emptiedBy };
    return { type: 'ended', result: resultOf(ending, figures, this.limits), durationMs };
  }

  /** The ending of a cell whose executor ended before it began, or whose memory could not be had. */
  private neverBegan(): SegmentEnding {
    const kind = this.ended ?? 'protocol';
    const message = kind === 'killed' ? 'The run was killed' : 'The thread did not start';
    return { type: 'failed', kind, message, durationMs: 0, memoryUsedBytes: 0 };
  }

  private get keptScratchpad(): Scratchpad | undefined {
    return this.settings.scratchpad ? this.scratchpad : undefined;
  }

  private async exclusively<Result>(called: string, work: () => Promise<Result>): Promise<Result> {
    this.refuseDuringRun(called);
    this.isBusy = true;
    try {
      return await work();
    } finally {
      this.isBusy = false;
    }
  }

  private async end(kind: ExecutionErrorKind): Promise<void> {
    const error: ExecutionError = { kind, message: 'The run was killed' };
    this.ended = kind;
    this.cell = undefined;
    this.injections.clear();
    const { memory, restoring } = this;
    this.memory = new CodeMemory(this.settings);
    await Promise.all([memory.end(error), ...(restoring === undefined ? [] : [restoring.end(error)])]);
  }

  private refuseDuringRun(called: string): void {
    if (this.cell !== undefined && this.cell.waitsFor > 0) {
      throw new UsageError(`The code waits for the results of calls: call resume() or kill() before ${called}()`);
    }
    if (this.cell !== undefined || this.isBusy) {
      throw new UsageError(`The executor is running code: wait for its end, or call kill(), before ${called}()`);
    }
  }

  private refuseAfterClose(): void {
    if (this.isClosed) throw new UsageError('The executor is closed: make another one');
  }

  private refuseAfterEnd(): void {
    this.refuseAfterClose();
    if (this.ended === undefined) return;
    throw new UsageError(`All names were lost by an error of the kind "${this.ended}": there is nothing to make a checkpoint of`);
  }
}

function checkMoment({ now, seed }: Moment): void {
  if (!Number.isFinite(now) || now < 0) throw new UsageError(`The moment of a run has now ${now}: write milliseconds since 1970`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`The moment of a run has seed ${seed}: write a whole number`);
}

const ALWAYS = ['print', 'console', 'final_answer'];
const SCRATCHPAD = ['store', 'recall', 'observe', 'memory', 'uncertain', 'explore', 'commit'];

/** Values that the next run gets as names, as JSON. */
export class Injections {
  /** Names that an executor gives to code. */
  private readonly provided: ReadonlySet<string>;
  private values = new Map<string, string>();

  constructor({ tools, scratchpad }: Pick<ThreadSettings, 'tools' | 'scratchpad'>) {
    const names = tools.map(({ name }) => name);
    this.provided = new Set([...ALWAYS, ...(names.length === 0 ? [] : ['tools', ...names]), ...(scratchpad ? SCRATCHPAD : [])]);
  }

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  add(name: string, value: JsonValue): void {
    if (!isVariableName(name)) throw new UsageError(`"${name}" cannot be injected: it is no name of a variable`);
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

/** Threads that a process keeps for executors between two runs. The others have only the memory of their code, compressed. */
const MAX_IDLE_THREADS = 4;

/** The memories that wait for a run in a thread, the longest first. */
const idle = new Set<CodeMemory>();

/** The memory of one executor's code: in a thread, or at rest as a checkpoint, from which the next run has it in a new thread. */
export class CodeMemory {
  private readonly settings: ThreadSettings;
  private thread: CellThread | undefined;
  private checkpoint: Uint8Array | undefined;
  private resting: Promise<void> | undefined;
  private isOver = false;

  constructor(settings: ThreadSettings) {
    this.settings = settings;
  }

  /** Returns a thread that has the memory; undefined after the end. */
  async wake(): Promise<CellThread | undefined> {
    idle.delete(this);
    await this.resting;
    if (this.isOver) return undefined;
    this.thread ??= new CellThread(this.settings);
    const { thread, checkpoint } = this;
    this.checkpoint = undefined;
    if (checkpoint !== undefined && (await thread.restore(checkpoint)).problem !== undefined) return undefined;
    return thread;
  }

  /** Takes over the memory of a checkpoint, or reports why that is not possible. */
  restore(checkpoint: Uint8Array): Promise<RestoredFrame> {
    this.thread = new CellThread(this.settings);
    return this.thread.restore(checkpoint);
  }

  /** The memory as a checkpoint, if it is at rest. */
  async restingCheckpoint(): Promise<Uint8Array | undefined> {
    await this.resting;
    return this.checkpoint;
  }

  /** Lets the thread go if many others are idle. */
  becomeIdle(): void {
    idle.add(this);
    for (const longest of idle) {
      if (idle.size <= MAX_IDLE_THREADS) return;
      idle.delete(longest);
      longest.resting ??= longest.rest();
    }
  }

  /** Settles what is going on, and ends the thread. */
  async end(error: ExecutionError): Promise<void> {
    idle.delete(this);
    this.isOver = true;
    this.checkpoint = undefined;
    await this.thread?.terminate(error);
  }

  private async rest(): Promise<void> {
    const { thread } = this;
    try {
      const checkpoint = await thread?.checkpoint({ type: 'checkpoint', injected: [] });
      if (this.isOver) return;
      this.checkpoint = checkpoint;
      this.thread = undefined;
      // Its end may take a while, and the next run need not wait for it.
      void thread?.terminate({ kind: 'killed', message: 'The thread was let go' });
    } catch {
      // The thread has failed: the next run hears of it.
    } finally {
      this.resting = undefined;
    }
  }
}
