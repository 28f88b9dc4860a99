import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import zlib from 'node:zlib';
import { type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import { errorMessage, UsageError } from '../../../src/core/domain/errors.ts';
import type { ExecutionError, ExecutionErrorKind, Executor } from '../../../src/core/domain/execution.ts';
import {
  CellExecutor,
  type CellHost,
  emptyScratchpad,
  type Provided,
  readScratchpad,
  type SegmentEnding,
  threadSettings,
} from '../cell-executor.ts';
import {
  type EndFrame,
  type ExecutorFrame,
  frameText,
  readThreadFrame,
  type RestoredFrame,
  type RunFrame,
  type ThreadData,
  type ThreadFrame,
  type ThreadSettings,
  timeoutError,
} from '../frames.ts';
import type { EngineModule } from './thread/engine.ts';

/** The fields of an executor's definition that are needed here. */
export interface QuickJsDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of modules that code may import. */
  allowedImports?: readonly string[];
}

/** Creates an executor of JavaScript: QuickJS, compiled to WebAssembly, in a separate thread, which starts with the first run. */
export function quickjsExecutor(definition: QuickJsDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const limits = executionLimits(definition.limits);
  return new QuickJsExecutor(limits, threadSettings(limits, definition.allowedImports ?? [], provided));
}

/** Memories of this size or more stay in their thread: compressing them would take too long. */
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

/** The number of threads that a process keeps for executors between two runs. Other executors only keep their compressed memory. */
const MAX_IDLE_THREADS = 4;

/** The memories that wait in a thread for a run, the longest wait first. */
const idle = new Set<CodeMemory>();

/** The memory of one executor's code: in a thread, or at rest as a checkpoint, which the next run restores in a new thread. */
class CodeMemory {
  private readonly settings: ThreadSettings;
  private thread: CellThread | undefined;
  private checkpoint: Uint8Array | undefined;
  private resting: Promise<void> | undefined;
  private isOver = false;

  constructor(settings: ThreadSettings) {
    this.settings = settings;
  }

  /** Returns a thread with the memory; undefined after the end. */
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

  /** Restores the memory of a checkpoint, or reports why that is not possible. */
  restore(checkpoint: Uint8Array): Promise<RestoredFrame> {
    this.thread = new CellThread(this.settings);
    return this.thread.restore(checkpoint);
  }

  /** Returns the memory as a checkpoint, if it is at rest. */
  async restingCheckpoint(): Promise<Uint8Array | undefined> {
    await this.resting;
    return this.checkpoint;
  }

  /** Marks the memory as idle, and releases the longest idle threads if there are too many. */
  becomeIdle(): void {
    idle.add(this);
    for (const longest of idle) {
      if (idle.size <= MAX_IDLE_THREADS) return;
      idle.delete(longest);
      longest.resting ??= longest.rest();
    }
  }

  /** Settles the request in progress, and ends the thread. */
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
      // Ending may take a while, and the next run need not wait for it.
      void thread?.terminate({ kind: 'killed', message: 'The thread was let go' });
    } catch {
      // The thread has failed, which the next run reports.
    } finally {
      this.resting = undefined;
    }
  }
}

/** Milliseconds that a thread may take to load the engine. */
const START_MS = 60_000;
/** Milliseconds after its time limit for code to stop by itself, before its thread is ended. */
const GRACE_MS = 250;

type Failure = Extract<EndFrame, { type: 'failed' }>;

/** A thread's answer to a request, or the reason that there will be none. */
type Report = Exclude<ThreadFrame, { type: 'began' | 'output' }> | { type: 'image'; bytes: Uint8Array };

/**
 * The thread of one executor, with an almost empty environment and a bounded heap. Only JSON text and images of its memory are exchanged
 * with it.
 */
export class CellThread implements CellHost {
  output = '';
  private readonly settings: ThreadSettings;
  private readonly worker: Worker;
  private readonly wake = new Int32Array(new SharedArrayBuffer(4));
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private began: number | undefined;
  /** Milliseconds that the segments of the current cell took. */
  private spentMs = 0;
  private settle: ((report: Report) => void) | undefined;

  constructor(settings: ThreadSettings) {
    this.settings = settings;
    const data: ThreadData = { settings: frameText(settings), engine: engineModule(), wake: this.wake.buffer };
    this.worker = new Worker(new URL(`./thread/main${extname(import.meta.url)}`, import.meta.url), {
      workerData: data,
      env: compileCache(),
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      // A stack larger than the engine's, so that code overflows the engine's; the engine's memory is not part of this heap.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, codeRangeSizeMb: 16, stackSizeMb: 16 },
    });
    this.worker.unref();
    this.worker.on('message', (received: unknown) => this.receive(received));
    this.worker.on('messageerror', () => this.end('protocol', 'The thread sent a message that cannot be read'));
    this.worker.on('error', (error: unknown) => {
      const isMemory = (error as { code?: unknown } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.end(isMemory ? 'memory' : 'protocol', isMemory ? 'The thread ran out of memory' : `The thread failed: ${errorMessage(error)}`);
    });
    this.worker.on('exit', () => {
      this.isOver = true;
      this.end('protocol', 'The thread ended by itself');
    });
  }

  async run(frame: RunFrame): Promise<SegmentEnding> {
    this.output = '';
    this.spentMs = 0;
    return segmentOf(await this.request(frameText(frame)));
  }

  async resume(results: string): Promise<SegmentEnding> {
    const report = this.request(results);
    this.beginSegment();
    return segmentOf(await report);
  }

  /** Returns the memory of the code, between two cells. */
  async checkpoint(frame: Extract<ExecutorFrame, { type: 'checkpoint' }>): Promise<Uint8Array> {
    const report = await this.request(frameText(frame));
    if (report.type === 'image') return packImage(report.bytes);
    throw new Error(`the thread made no checkpoint: ${problemOf(report)}`);
  }

  /** Restores the memory of a checkpoint, or reports why that is not possible. */
  async restore(checkpoint: Uint8Array): Promise<RestoredFrame> {
    const image = await unpackImage(checkpoint, this.settings.memoryBytes);
    if ('problem' in image) return { type: 'restored', problem: image.problem };
    const report = await this.request(image);
    return report.type === 'restored' ? report : { type: 'restored', problem: problemOf(report) };
  }

  /** Settles the request in progress, and ends the thread. */
  async terminate(error: ExecutionError): Promise<void> {
    this.end(error.kind, error.message);
    await this.worker.terminate();
  }

  /** Never rejects. */
  private request(message: string | Uint8Array): Promise<Report> {
    return new Promise((resolve) => {
      this.settle = resolve;
      this.began = undefined;
      if (this.isOver) return this.end('protocol', 'The thread has ended by itself');
      this.worker.ref();
      this.timer = setTimeout(() => this.end('protocol', `The thread did not answer within ${START_MS / 1_000} s`), START_MS);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      this.worker.postMessage(message);
      Atomics.add(this.wake, 0, 1);
      Atomics.notify(this.wake, 0);
    });
  }

  private receive(received: unknown): void {
    if (received instanceof Uint8Array) return this.finish({ type: 'image', bytes: received });
    const frame = readThreadFrame(received);
    if (frame === undefined) return this.end('protocol', 'The thread sent something else than a frame');
    switch (frame.type) {
      case 'began':
        this.beginSegment();
        return;
      case 'output':
        this.print(frame.text);
        return;
      default:
        this.finish(frame);
    }
  }

  private beginSegment(): void {
    const { timeoutMs } = this.settings;
    this.began = performance.now();
    clearTimeout(this.timer);
    if (timeoutMs > 0) this.timer = setTimeout(() => this.timeOut(), Math.max(0, timeoutMs - this.spentMs) + GRACE_MS);
  }

  /** Ends the thread of code that never reaches an interrupt check. */
  private timeOut(): void {
    const { kind, message } = timeoutError(this.settings.timeoutMs / 1_000);
    this.end(kind, message);
  }

  private print(text: string): void {
    if (this.output.length + text.length > this.settings.outputLength) this.end('protocol', 'The thread sent more output than it may');
    else this.output += text;
  }

  private end(kind: ExecutionError['kind'], message: string): void {
    const durationMs = this.began === undefined ? 0 : performance.now() - this.began;
    this.finish({ type: 'failed', kind, message, durationMs, memoryUsedBytes: 0 });
  }

  private finish(report: Report): void {
    clearTimeout(this.timer);
    this.worker.unref();
    if (report.type === 'calls') this.spentMs += report.durationMs;
    const { settle } = this;
    this.settle = undefined;
    settle?.(report);
  }
}

function segmentOf(report: Report): SegmentEnding {
  if (report.type === 'calls' || report.type === 'done' || report.type === 'failed') return report;
  return { ...NO_FIGURES, kind: 'protocol', message: 'The thread answered something else than it was asked' };
}

const NO_FIGURES: Pick<Failure, 'type' | 'durationMs' | 'memoryUsedBytes'> = { type: 'failed', durationMs: 0, memoryUsedBytes: 0 };

function problemOf(report: Report): string {
  return report.type === 'failed' ? report.message : 'it answered something else';
}

/** The environment of a thread: only the variable of Node's compile cache, without which each thread compiles its modules again. */
function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}

/** The part of WebAssembly that is needed here, which Node's types lack. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => EngineModule };

let compiled: EngineModule | undefined;

/** Returns the engine, compiled once for all threads of the process, which share the machine code. */
export function engineModule(): EngineModule {
  compiled ??= new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')));
  return compiled;
}

/** Begins every checkpoint. */
const MAGIC = Buffer.from('LHQJS2\n');
/** Bytes that an image may have beyond the code's limit: the engine's own, fragmentation, and the header. */
const OVERHEAD_BYTES = 65 * 1_048_576;

const compress = promisify(zlib.zstdCompress);
const decompress = promisify(zlib.zstdDecompress);

/**
 * Compresses the image of a memory to a checkpoint. This is not done in the code's thread: if a thread is ended while it creates a zlib
 * stream, Node aborts the whole process ("close before init").
 */
export async function packImage(image: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat([MAGIC, await compress(image)]));
}

/** Returns the image of a checkpoint for code with that memory limit, or why it is invalid. */
async function unpackImage(checkpoint: Uint8Array, memoryBytes: number): Promise<Uint8Array | { problem: string }> {
  if (!MAGIC.equals(checkpoint.subarray(0, MAGIC.length))) return { problem: 'it is not a checkpoint of this executor' };
  try {
    return await decompress(checkpoint.subarray(MAGIC.length), { maxOutputLength: memoryBytes + OVERHEAD_BYTES });
  } catch {
    return { problem: 'it is damaged' };
  }
}
