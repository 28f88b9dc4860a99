import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import { type ExecutionLimits, executionLimits } from '../../../src/core/execution/execution-limits.ts';
import type { ExecutionErrorKind, ExecutionResult, Scratchpad } from '../../../src/core/execution/execution-result.ts';
import type { CodeCallResult, Executor, Moment, Segment } from '../../../src/core/execution/executor.ts';
import type { Provided } from '../provided.ts';
import { resultsText } from './call-results.ts';
import { CellThread, type SegmentEnding } from './cell-thread.ts';
import { MAX_CODE_LENGTH, MAX_OUTPUT_LENGTH, type ThreadSettings } from './frames.ts';
import { Injections } from './injections.ts';
import { codeTooLong, emptyScratchpad, failedOutputLength, readScratchpad, resultOf } from './results.ts';

/** The part of an executor's definition that is needed here. */
export interface QuickJsDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of modules that code may import. */
  allowedImports?: readonly string[];
}

/** Kinds of errors after which nothing can be said of the state that the code has left. */
const ENDING: ReadonlySet<ExecutionErrorKind> = new Set(['timeout', 'memory', 'killed', 'protocol']);

/** Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a thread of its own. The thread starts with the first run. */
export function quickjsExecutor(definition: QuickJsDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const limits = executionLimits(definition.limits);
  if (limits.maxOutputBytes > MAX_OUTPUT_LENGTH) {
    throw new UsageError(`The limit "maxOutputBytes" of the executor is ${limits.maxOutputBytes}: write at most ${MAX_OUTPUT_LENGTH}`);
  }
  return new QuickJsExecutor(limits, definition.allowedImports ?? [], provided);
}

/** A cell that has begun and not ended. */
interface Cell {
  /** Milliseconds and characters of output of the segments that have ended. */
  spentMs: number;
  outputLength: number;
  /** The number of calls that it waits for; 0 while it runs. */
  waitsFor: number;
}

class QuickJsExecutor implements Executor {
  private readonly limits: ExecutionLimits;
  private readonly settings: ThreadSettings;
  private readonly injections: Injections;
  private thread: CellThread | undefined;
  /** The thread that takes over a checkpoint. */
  private restoring: CellThread | undefined;
  private cell: Cell | undefined;
  private isBusy = false;
  private ended: ExecutionErrorKind | undefined;
  private scratchpad = emptyScratchpad();

  constructor(limits: ExecutionLimits, allowedImports: readonly string[], provided: Provided) {
    this.limits = limits;
    this.settings = {
      timeoutMs: Math.max(0, limits.timeoutSeconds) * 1_000,
      memoryBytes: limits.maxMemoryMb * 1_048_576,
      // One character more than may be kept shows that there was more.
      outputLength: failedOutputLength(limits) + 1,
      tools: provided.tools.map(({ name, parameters }) => ({ name, parameters: [...parameters] })),
      scratchpad: provided.scratchpad,
      allowedImports: [...allowedImports],
    };
    this.injections = new Injections(this.settings);
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
    const { thread, cell } = this;
    if (thread === undefined || cell === undefined || cell.waitsFor === 0)
      throw new UsageError('No code waits for calls: call begin() first');
    const text = resultsText(results, cell.waitsFor);
    cell.waitsFor = 0;
    return this.segment(thread, cell, await thread.resume(text));
  }

  async kill(): Promise<void> {
    await this.end('killed');
  }

  inject(name: string, value: JsonValue): void {
    this.refuseDuringRun('inject');
    this.injections.add(name, value);
  }

  async reset(): Promise<void> {
    this.refuseDuringRun('reset');
    await this.end('killed');
    this.injections.clear();
    this.scratchpad = emptyScratchpad();
    this.ended = undefined;
  }

  async checkpoint(): Promise<Uint8Array> {
    this.refuseDuringRun('checkpoint');
    this.refuseAfterEnd('checkpoint()');
    this.thread ??= new CellThread(this.settings);
    const { thread } = this;
    return this.exclusively(() => thread.checkpoint({ type: 'checkpoint', injected: this.injections.take() }));
  }

  async restore(checkpoint: Uint8Array): Promise<void> {
    this.refuseDuringRun('restore');
    const thread = new CellThread(this.settings);
    this.restoring = thread;
    const restored = await this.exclusively(() => thread.restore(checkpoint));
    this.restoring = undefined;
    if (restored.problem !== undefined) {
      await thread.terminate({ kind: 'killed', message: restored.problem });
      throw new UsageError(`The checkpoint cannot be restored: ${restored.problem}. Run the cells again instead`);
    }
    await this.end('killed');
    this.injections.clear();
    this.scratchpad = readScratchpad(restored.scratchpad) ?? emptyScratchpad();
    this.thread = thread;
    this.ended = undefined;
  }

  private async start(code: string, moment: Moment, mayCall: boolean): Promise<Segment> {
    this.refuseDuringRun(mayCall ? 'begin' : 'run');
    this.refuseAfterEnd('the next run');
    checkMoment(moment);
    if (code.length > MAX_CODE_LENGTH) return { type: 'ended', result: codeTooLong(code, this.keptScratchpad), durationMs: 0 };
    this.thread ??= new CellThread(this.settings);
    const { thread } = this;
    const cell: Cell = { spentMs: 0, outputLength: 0, waitsFor: 0 };
    this.cell = cell;
    const { now, seed } = moment;
    return this.segment(thread, cell, await thread.run({ type: 'run', code, now, seed, injected: this.injections.take(), mayCall }));
  }

  private async segment(thread: CellThread, cell: Cell, ending: SegmentEnding): Promise<Segment> {
    const { durationMs } = ending;
    cell.spentMs += durationMs;
    if (ending.type === 'calls') {
      const output = thread.output.slice(cell.outputLength);
      cell.outputLength = thread.output.length;
      cell.waitsFor = ending.calls.length;
      return { type: 'calls', calls: ending.calls, output, durationMs };
    }
    if (this.cell === cell) this.cell = undefined;
    if (ending.type === 'failed' && ENDING.has(ending.kind) && this.thread === thread) await this.end(ending.kind);
    this.scratchpad = readScratchpad(ending.scratchpad) ?? this.scratchpad;
    const figures = { output: thread.output, durationMs: cell.spentMs, scratchpad: this.keptScratchpad };
    return { type: 'ended', result: resultOf(ending, figures, this.limits), durationMs };
  }

  private get keptScratchpad(): Scratchpad | undefined {
    return this.settings.scratchpad ? this.scratchpad : undefined;
  }

  private async exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    this.isBusy = true;
    try {
      return await work();
    } finally {
      this.isBusy = false;
    }
  }

  private async end(kind: ExecutionErrorKind): Promise<void> {
    const threads = [this.thread, this.restoring];
    this.ended = kind;
    this.thread = undefined;
    this.cell = undefined;
    for (const thread of threads) await thread?.terminate({ kind, message: 'The run was killed' });
  }

  private refuseDuringRun(called: string): void {
    if (this.cell !== undefined && this.cell.waitsFor > 0) {
      throw new UsageError(`The code waits for the results of calls: call resume() or kill() before ${called}()`);
    }
    if (this.cell !== undefined || this.isBusy) {
      throw new UsageError(`The executor is running code: wait for its end, or call kill(), before ${called}()`);
    }
  }

  private refuseAfterEnd(before: string): void {
    if (this.ended === undefined) return;
    throw new UsageError(`The executor has ended with "${this.ended}", and its names are lost: call reset() before ${before}`);
  }
}

function checkMoment({ now, seed }: Moment): void {
  if (!Number.isFinite(now) || now < 0) throw new UsageError(`The moment of a run has now ${now}: write milliseconds since 1970`);
  if (!Number.isSafeInteger(seed)) throw new UsageError(`The moment of a run has seed ${seed}: write a whole number`);
}
