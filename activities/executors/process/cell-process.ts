import { randomUUID } from 'node:crypto';
import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';
import type { CodeTool } from '../../../src/core/execution/executor.ts';
import { type EndFrame, MAX_CALLS, MAX_FRAME_LENGTH, MAX_SEGMENTS, type RunFrame } from '../quickjs/frames.ts';
import { timeoutError } from '../quickjs/time-limit.ts';
import { FrameLines } from './frame-lines.ts';
import type { Program } from './program.ts';
import { type ProcessFrame, readFrame } from './read-frame.ts';
import type { ProcessSettings } from './settings.ts';
import { StartedProgram } from './started-program.ts';

/** Milliseconds that a process may take to begin with a cell. */
const START_MS = 60_000;

/** The end of a segment: as the process reported it, or by the end of the process. */
export type SegmentEnding = Extract<ProcessFrame, { type: 'calls' }> | EndFrame;

/** The state of a cell: the process has not begun with it, runs it, or waits for the results of its calls. */
type Phase = 'idle' | 'starting' | 'running' | 'waiting';

/** The process of one executor. Frames on its standard streams are all that crosses. Its time is measured here. */
export class CellProcess {
  /** The text that the present cell has printed, as far as it came over. */
  output = '';
  private readonly settings: ProcessSettings;
  private readonly tools: ReadonlySet<string>;
  private readonly program: StartedProgram;
  private readonly lines = new FrameLines(MAX_FRAME_LENGTH);
  private phase: Phase = 'idle';
  private token = '';
  private timer: NodeJS.Timeout | undefined;
  private began = 0;
  /** Milliseconds that the segments of the present cell took, and their number. */
  private spentMs = 0;
  private segments = 0;
  /** Calls of the present cell, and characters that it has printed, where a frame counts as one at least. */
  private calls = 0;
  private printed = 0;
  private settle: ((ending: SegmentEnding) => void) | undefined;
  private failure: ExecutionError | undefined;
  private hasBegun = false;

  constructor(program: Program, settings: ProcessSettings) {
    this.settings = settings;
    this.tools = new Set(settings.tools.map(({ name }: CodeTool) => name));
    this.program = new StartedProgram(program, {
      data: (chunk) => this.receive(chunk),
      ended: (reason) => this.fail(reason.kind === 'timeout' && this.isTimeUp() ? this.timeoutError() : this.explained(reason)),
    });
    this.program.hold(false);
    this.program.write(JSON.stringify({ type: 'start', ...settings, ...program.settings }));
  }

  /** Runs one cell up to its first calls, or to its end. Never rejects. */
  run(frame: RunFrame): Promise<SegmentEnding> {
    this.output = '';
    this.spentMs = 0;
    this.segments = 0;
    this.calls = 0;
    this.printed = 0;
    this.token = randomUUID();
    this.phase = 'starting';
    this.timer = setTimeout(
      () => this.fail({ kind: 'protocol', message: `The process did not begin within ${START_MS / 1_000} s` }),
      START_MS,
    );
    return this.segment(JSON.stringify({ ...frame, token: this.token }));
  }

  /** Goes on with the cell, with the JSON of the results of its calls. Never rejects. */
  resume(results: string): Promise<SegmentEnding> {
    this.phase = 'running';
    this.startClock();
    return this.segment(`{"type":"results","results":${results}}`);
  }

  /** Settles the present segment, if there is one, and kills the process. */
  async terminate(error: ExecutionError): Promise<void> {
    this.fail(error);
    await this.program.kill();
  }

  private segment(line: string): Promise<SegmentEnding> {
    this.segments += 1;
    return new Promise((resolve) => {
      this.settle = resolve;
      if (this.failure !== undefined) return this.fail(this.failure);
      this.program.hold(true);
      this.program.write(line);
    });
  }

  private receive(chunk: Buffer): void {
    const lines = this.lines.add(chunk);
    for (const line of lines ?? []) {
      if (this.failure !== undefined) return;
      this.take(readFrame(line, this.token));
    }
    if (lines === undefined) this.break('The process sent more than a frame may have');
  }

  private take(frame: ProcessFrame | undefined): void {
    if (frame === undefined) return this.break('The process sent something else than a frame of this run');
    if (this.phase !== (frame.type === 'began' ? 'starting' : 'running')) return this.break('The process sent a frame out of turn');
    switch (frame.type) {
      case 'began':
        this.hasBegun = true;
        this.phase = 'running';
        this.startClock();
        return;
      case 'output':
        return this.print(frame.text);
      case 'calls':
        if (this.segments >= MAX_SEGMENTS + 1) return this.break('The process waited for calls more often than it may');
        this.calls += frame.calls.length;
        if (this.calls > MAX_CALLS) return this.break('The process called tools more often than it may');
        if (frame.calls.some(({ tool }) => !this.tools.has(tool))) return this.break('The process called a tool that there is not');
        return this.finish('waiting', frame);
      default:
        return this.finish('idle', { ...frame, memoryUsedBytes: this.program.memoryUsedBytes ?? frame.memoryUsedBytes });
    }
  }

  private print(text: string): void {
    this.printed += Math.max(1, codePoints(text));
    if (this.printed > this.settings.outputLength) this.break('The process sent more output than it may');
    else this.output += text;
  }

  private startClock(): void {
    clearTimeout(this.timer);
    this.began = performance.now();
    const { timeoutMs } = this.settings;
    if (timeoutMs > 0) this.timer = setTimeout(() => this.fail(this.timeoutError()), Math.max(1, timeoutMs - this.spentMs));
  }

  private break(message: string): void {
    this.fail({ kind: 'protocol', message });
  }

  private fail(error: ExecutionError): void {
    if (this.failure === undefined) {
      this.failure = error;
      void this.program.kill();
    }
    this.finish('idle', { type: 'failed', kind: error.kind, message: error.message, durationMs: 0, memoryUsedBytes: 0 });
  }

  private finish(phase: Phase, ending: SegmentEnding): void {
    clearTimeout(this.timer);
    const durationMs = this.phase === 'running' ? performance.now() - this.began : 0;
    this.phase = phase;
    this.spentMs += durationMs;
    if (this.failure === undefined) this.program.hold(false);
    const { settle } = this;
    this.settle = undefined;
    settle?.({ ...ending, durationMs });
  }

  /** False for a process that ended earlier, whatever it says. */
  private isTimeUp(): boolean {
    const { timeoutMs } = this.settings;
    return timeoutMs > 0 && this.phase === 'running' && this.spentMs + performance.now() - this.began >= timeoutMs;
  }

  private timeoutError(): ExecutionError {
    return timeoutError(this.settings.timeoutMs / 1_000);
  }

  /** A process that never began says in its error output why. */
  private explained({ kind, message }: ExecutionError): ExecutionError {
    const stderr = this.program.stderr.trim();
    return { kind: kind === 'timeout' ? 'protocol' : kind, message: this.hasBegun || stderr === '' ? message : `${message}: ${stderr}` };
  }
}

/** Returns the length of a text as programs in other languages count it. */
function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}
