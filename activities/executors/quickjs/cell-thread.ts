import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import zlib from 'node:zlib';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import type { ExecutionError } from '../../../src/core/domain/execution.ts';
import type { CellHost, SegmentEnding } from '../cell-executor.ts';
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

/** Milliseconds that a thread may take to load the engine. */
const START_MS = 60_000;
/** Milliseconds after its time limit that code has to stop by itself, before its thread is ended. */
const GRACE_MS = 250;

type Failure = Extract<EndFrame, { type: 'failed' }>;

/** The report of a thread that has done what it was asked to, or that never will. */
type Report = Exclude<ThreadFrame, { type: 'began' | 'output' }> | { type: 'image'; bytes: Uint8Array };

/** The thread of one executor, with next to nothing in its environment and a bounded heap. JSON text and images of its memory cross its border. */
export class CellThread implements CellHost {
  output = '';
  private readonly settings: ThreadSettings;
  private readonly worker: Worker;
  private readonly wake = new Int32Array(new SharedArrayBuffer(4));
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private began: number | undefined;
  /** Milliseconds that the segments of the present cell took. */
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
      // A stack that is larger than the engine's, so that code overflows its own; the engine's memory is no part of this heap.
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

  /** Takes over the memory of a checkpoint, or reports why that is not possible. */
  async restore(checkpoint: Uint8Array): Promise<RestoredFrame> {
    const image = await unpackImage(checkpoint, this.settings.memoryBytes);
    if ('problem' in image) return { type: 'restored', problem: image.problem };
    const report = await this.request(image);
    return report.type === 'restored' ? report : { type: 'restored', problem: problemOf(report) };
  }

  /** Settles what is going on, and ends the thread. */
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

  /** Code that never asks if it should stop has its thread ended. */
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

/** The environment of a thread: no variable but that of the cache of Node, without which each thread compiles its modules anew. */
function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}

/** The part of WebAssembly that is needed here: Node has it, and its types lack it. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => EngineModule };

let compiled: EngineModule | undefined;

/** Returns the engine, compiled once for all threads of the process, which share its machine code. */
export function engineModule(): EngineModule {
  compiled ??= new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')));
  return compiled;
}

/** Begins every checkpoint. */
const MAGIC = Buffer.from('LHQJS2\n');
/** Bytes that an image may have beyond the limit of the code: the engine's own, what is lost between values, and the header. */
const OVERHEAD_BYTES = 65 * 1_048_576;

const compress = promisify(zlib.zstdCompress);
const decompress = promisify(zlib.zstdDecompress);

/**
 * Compresses the image of a memory to a checkpoint. This is not done in the thread of the code: if a thread is ended at the moment at
 * which it creates a stream of zlib, Node aborts the whole process ("close before init").
 */
export async function packImage(image: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat([MAGIC, await compress(image)]));
}

/** Returns the image of a checkpoint for code with that limit of memory, or why it is none. */
async function unpackImage(checkpoint: Uint8Array, memoryBytes: number): Promise<Uint8Array | { problem: string }> {
  if (!MAGIC.equals(checkpoint.subarray(0, MAGIC.length))) return { problem: 'it is no checkpoint of this executor' };
  try {
    return await decompress(checkpoint.subarray(MAGIC.length), { maxOutputLength: memoryBytes + OVERHEAD_BYTES });
  } catch {
    return { problem: 'it is damaged' };
  }
}
