import { type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import type { ExecutionError, ExecutionErrorKind, Executor } from '../../../src/core/domain/execution.ts';
import { CellExecutor, threadSettings } from '../cell-executor.ts';
import type { EndFrame, RestoredFrame, ThreadSettings } from '../frames.ts';
import { emptyScratchpad, type Provided, readScratchpad } from '../results.ts';
import { CellThread } from './cell-thread.ts';

/** The part of an executor's definition that is needed here. */
export interface QuickJsDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of modules that code may import. */
  allowedImports?: readonly string[];
}

/** Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a thread of its own. The thread starts with the first run. */
export function quickjsExecutor(definition: QuickJsDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const limits = executionLimits(definition.limits);
  return new QuickJsExecutor(limits, threadSettings(limits, definition.allowedImports ?? [], provided));
}

/** Bytes from which on a memory stays in its thread: to compress it would take longer than it is worth. */
const LARGE_MEMORY_BYTES = 32 * 1_048_576;

class QuickJsExecutor extends CellExecutor {
  private readonly settings: ThreadSettings;
  private memory: CodeMemory;
  /** The memory of the checkpoint that is being restored. */
  private restoring: CodeMemory | undefined;
  /** True while a checkpoint is made or restored. */
  private isMoving = false;

  constructor(limits: ExecutionLimits, settings: ThreadSettings) {
    super('javascript', limits, settings);
    this.settings = settings;
    this.memory = new CodeMemory(settings);
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

  protected openHost(): Promise<CellThread | undefined> {
    return this.memory.wake();
  }

  protected async endHost(kind: ExecutionErrorKind): Promise<void> {
    const error: ExecutionError = { kind, message: 'The run was killed' };
    const { memory, restoring } = this;
    this.memory = new CodeMemory(this.settings);
    await Promise.all([memory.end(error), ...(restoring === undefined ? [] : [restoring.end(error)])]);
  }

  protected override get isBusy(): boolean {
    return super.isBusy || this.isMoving;
  }

  protected override rest({ memoryUsedBytes }: EndFrame): void {
    if (memoryUsedBytes < LARGE_MEMORY_BYTES) this.memory.becomeIdle();
  }

  private async exclusively<Result>(called: string, work: () => Promise<Result>): Promise<Result> {
    this.refuseDuringRun(called);
    this.isMoving = true;
    try {
      return await work();
    } finally {
      this.isMoving = false;
    }
  }

  private refuseAfterEnd(): void {
    this.refuseAfterClose();
    if (this.ended === undefined) return;
    throw new UsageError(`All names were lost by an error of the kind "${this.ended}": there is nothing to make a checkpoint of`);
  }
}

/** Threads that a process keeps for executors between two runs. The others have only the memory of their code, compressed. */
const MAX_IDLE_THREADS = 4;

/** The memories that wait for a run in a thread, the longest first. */
const idle = new Set<CodeMemory>();

/** The memory of one executor's code: in a thread, or at rest as a checkpoint, from which the next run has it in a new thread. */
class CodeMemory {
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
