import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';
import { frameText, readThreadFrame, type RunFrame, type ThreadFrame, type ThreadLimits } from './frames.ts';
import { timeoutError } from './time-limit.ts';

/** Milliseconds that a thread may take to load the engine. */
const START_MS = 60_000;
/** Milliseconds after its time limit that code has to stop by itself, before its thread is ended. */
const GRACE_MS = 250;

/** The end of a run: as the thread reported it, or by the end of the thread. */
export type CellEnding =
  | Extract<ThreadFrame, { type: 'done' }>
  | (ExecutionError & { type: 'failed'; durationMs: number; memoryUsedBytes: number });

/** The thread of one executor, with an empty environment and a bounded heap. Only JSON text crosses its border. */
export class CellThread {
  /** The text that the present run has printed, as far as it came over. */
  output = '';
  private readonly limits: ThreadLimits;
  private readonly worker: Worker;
  private timer: NodeJS.Timeout | undefined;
  private began: number | undefined;
  private settle: ((ending: CellEnding) => void) | undefined;

  constructor(limits: ThreadLimits) {
    this.limits = limits;
    this.worker = new Worker(new URL(`./thread/main${extname(import.meta.url)}`, import.meta.url), {
      workerData: frameText(limits),
      env: {},
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
    this.worker.on('exit', () => this.end('protocol', 'The thread ended by itself'));
  }

  /** Runs one cell. Never rejects. */
  run(frame: RunFrame): Promise<CellEnding> {
    return new Promise((resolve) => {
      this.settle = resolve;
      this.output = '';
      this.began = undefined;
      this.worker.ref();
      this.timer = setTimeout(() => this.end('protocol', `The thread did not start within ${START_MS / 1_000} s`), START_MS);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      this.worker.postMessage(frameText(frame));
    });
  }

  /** Settles the present run, if there is one, and ends the thread. */
  async terminate(error: ExecutionError): Promise<void> {
    this.end(error.kind, error.message);
    await this.worker.terminate();
  }

  private receive(received: unknown): void {
    const frame = readThreadFrame(received);
    switch (frame?.type) {
      case 'began':
        this.began = performance.now();
        clearTimeout(this.timer);
        if (this.limits.timeoutMs > 0) this.timer = setTimeout(() => this.timeOut(), this.limits.timeoutMs + GRACE_MS);
        return;
      case 'output':
        this.print(frame.text);
        return;
      case 'done':
      case 'failed':
        this.finish(frame);
        return;
      default:
        this.end('protocol', 'The thread sent something else than a frame');
    }
  }

  /** Code that never asks if it should stop has its thread ended. */
  private timeOut(): void {
    const { kind, message } = timeoutError(this.limits.timeoutMs / 1_000);
    this.end(kind, message);
  }

  private print(text: string): void {
    if (this.output.length + text.length > this.limits.outputLength) this.end('protocol', 'The thread sent more output than it may');
    else this.output += text;
  }

  private end(kind: ExecutionError['kind'], message: string): void {
    const durationMs = this.began === undefined ? 0 : performance.now() - this.began;
    this.finish({ type: 'failed', kind, message, durationMs, memoryUsedBytes: 0 });
  }

  private finish(ending: CellEnding): void {
    clearTimeout(this.timer);
    this.worker.unref();
    const { settle } = this;
    this.settle = undefined;
    settle?.(ending);
  }
}
