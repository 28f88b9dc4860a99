import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';
import { CellThread } from './cell-thread.ts';
import type { RestoredFrame, ThreadSettings } from './frames.ts';

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

  /** True if no code has had it. */
  get isUnused(): boolean {
    return this.thread === undefined && this.checkpoint === undefined && this.resting === undefined && !this.isOver;
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
