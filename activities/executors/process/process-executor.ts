import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { type CodeLanguage, type ExecutionLimits, executionLimits } from '../../../src/core/domain/code.ts';
import { errorMessage, UsageError } from '../../../src/core/domain/errors.ts';
import type { CodeTool, ExecutionError, ExecutionErrorKind, Executor } from '../../../src/core/domain/execution.ts';
import { isJsonObject, isTooDeep, type JsonObject } from '../../../src/core/domain/json.ts';
import type { ExecutorDefinition } from '../../../src/define/code.ts';
import { CellExecutor, type CellHost, type Provided, readScratchpad, type SegmentEnding, threadSettings } from '../cell-executor.ts';
import {
  MAX_ANSWER_LENGTH,
  MAX_ARGUMENTS_LENGTH,
  MAX_BATCH_LENGTH,
  MAX_CALLS,
  MAX_FRAME_LENGTH,
  MAX_NAMESPACE_LENGTH,
  MAX_SCRATCHPAD_LENGTH,
  MAX_SEGMENTS,
  readThreadFrame,
  type RunFrame,
  type ThreadFrame,
  type ThreadSettings,
  timeoutError,
} from '../frames.ts';

/** Runs code in a process, which is started with the first run. There are no checkpoints: the cells must be run again. */
export class ProcessExecutor extends CellExecutor {
  private readonly program: () => Program;
  private readonly settings: ProcessSettings;
  private process: CellProcess | undefined;

  constructor(program: () => Program, definition: ProcessDefinition, provided: Provided) {
    const settings = processSettings(definition, provided);
    super(definition.language, definition.limits, settings);
    this.program = program;
    this.settings = settings;
  }

  protected openHost(): CellProcess {
    this.process ??= new CellProcess(this.program(), this.settings);
    return this.process;
  }

  protected async endHost(kind: ExecutionErrorKind): Promise<void> {
    const { process } = this;
    this.process = undefined;
    await process?.terminate({ kind, message: 'The run was killed' });
  }
}

/** The variables of the worker's environment that an operator's program gets, to find other programs. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'XDG_RUNTIME_DIR', 'DOCKER_HOST'];

/** Creates an executor of an operator's program, which starts with the first run. Only the program isolates the code. */
export function customExecutor(definition: ExecutorDefinition, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports, language } = definition;
  return new ProcessExecutor(() => operatorsProgram(definition), { language, limits: executionLimits(limits), allowedImports }, provided);
}

/** Returns the program of a definition. Throws a UsageError for a definition without one. */
function operatorsProgram({ command }: Pick<ExecutorDefinition, 'command'>): Program {
  const [file, ...args] = command ?? [];
  if (file === undefined) throw new UsageError('The executor "custom" has no command: make it with custom({command: […], language: …})');
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { file, args, env: Object.fromEntries(passed) };
}

/** Checks that the operator's program can be started, and runs an empty cell. Throws a UsageError. */
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

/** Milliseconds that a process may take to begin with a cell. */
const START_MS = 60_000;

/** The state of a cell: the process has not begun with it, runs it, or waits for the results of its calls. */
type Phase = 'idle' | 'starting' | 'running' | 'waiting';

/** The process of one executor. It only communicates by frames on its standard streams. Its time is measured here. */
export class CellProcess implements CellHost {
  output = '';
  private readonly settings: ProcessSettings;
  private readonly tools: ReadonlySet<string>;
  private readonly program: StartedProgram;
  private readonly lines = new FrameLines(MAX_FRAME_LENGTH);
  private phase: Phase = 'idle';
  private token = '';
  private timer: NodeJS.Timeout | undefined;
  private began = 0;
  /** Milliseconds that the segments of the current cell took, and their number. */
  private spentMs = 0;
  private segments = 0;
  /** Calls of the current cell, and characters that it has printed; each frame counts as at least one. */
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

  resume(results: string): Promise<SegmentEnding> {
    this.phase = 'running';
    this.startClock();
    return this.segment(`{"type":"results","results":${results}}`);
  }

  /** Settles the current segment, if any, and kills the process. */
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

  /** False for a process that ended earlier, whatever it reports. */
  private isTimeUp(): boolean {
    const { timeoutMs } = this.settings;
    return timeoutMs > 0 && this.phase === 'running' && this.spentMs + performance.now() - this.began >= timeoutMs;
  }

  private timeoutError(): ExecutionError {
    return timeoutError(this.settings.timeoutMs / 1_000);
  }

  /** The error output of a process that never began says why. */
  private explained({ kind, message }: ExecutionError): ExecutionError {
    const stderr = this.program.stderr.trim();
    return { kind: kind === 'timeout' ? 'protocol' : kind, message: this.hasBegun || stderr === '' ? message : `${message}: ${stderr}` };
  }
}

/** Returns the length of a text in code points, as other languages count it. */
function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

/** Splits a process's output into lines, without keeping more than one of them. */
export class FrameLines {
  private readonly maxLength: number;
  private readonly decoder = new StringDecoder('utf8');
  private parts: string[] = [];
  private length = 0;

  constructor(maxLength: number) {
    this.maxLength = maxLength;
  }

  /** Returns the lines that a chunk completes; undefined if a line is too long. */
  add(chunk: Buffer): string[] | undefined {
    const [first = '', ...rest] = this.decoder.write(chunk).split('\n');
    const lines: string[] = [];
    if (!this.keep(first)) return undefined;
    for (const part of rest) {
      lines.push(this.parts.join(''));
      this.parts = [];
      this.length = 0;
      if (!this.keep(part)) return undefined;
    }
    return lines;
  }

  private keep(part: string): boolean {
    this.length += part.length;
    if (part !== '') this.parts.push(part);
    return this.length <= this.maxLength;
  }
}

/** Characters of the message of an error that are kept. */
const MAX_MESSAGE_LENGTH = 10_000;
/** Ends that only the worker may report: a process that claims one of them misbehaves. */
const OF_THE_WORKER: ReadonlySet<ExecutionErrorKind> = new Set(['killed', 'protocol']);

/** A frame of a process: the thread frames except `restored`, which only threads send. */
type ProcessFrame = Exclude<ThreadFrame, { type: 'restored' }>;

/**
 * Reads a line of a process; undefined for anything but a frame with this token, within the process's limits. Code may have written the
 * content.
 */
export function readFrame(line: string, token: string): ProcessFrame | undefined {
  if (line.length > MAX_FRAME_LENGTH || parsedObject(line)?.['token'] !== token) return undefined;
  const frame = readThreadFrame(line);
  switch (frame?.type) {
    case 'began':
    case 'output':
      return frame;
    case 'calls':
      return frame.calls.every(({ arguments: given }) => JSON.stringify(given).length <= MAX_ARGUMENTS_LENGTH) ? frame : undefined;
    case 'done':
      return isScratchpad(frame.scratchpad) && isJson(frame.answer, MAX_ANSWER_LENGTH) && isNamespace(frame.namespace)
        ? { ...frame, memoryUsedBytes: bytes(frame.memoryUsedBytes) }
        : undefined;
    case 'failed':
      return isScratchpad(frame.scratchpad) && !OF_THE_WORKER.has(frame.kind)
        ? { ...frame, message: frame.message.slice(0, MAX_MESSAGE_LENGTH), memoryUsedBytes: bytes(frame.memoryUsedBytes) }
        : undefined;
    default:
      return undefined;
  }
}

function isScratchpad(text: string | undefined): boolean {
  return text === undefined || (isJson(text, MAX_SCRATCHPAD_LENGTH) && readScratchpad(text) !== undefined);
}

function isNamespace(namespace: Record<string, { type: string; json?: string }>): boolean {
  let length = 0;
  for (const [name, { type, json }] of Object.entries(namespace)) {
    length += name.length + type.length + (json?.length ?? 0);
    // A process may count the characters of names and types differently.
    if (length > 2 * MAX_NAMESPACE_LENGTH || !isJson(json, MAX_NAMESPACE_LENGTH)) return false;
  }
  return true;
}

function isJson(text: string | undefined, maxLength: number): boolean {
  if (text === undefined) return true;
  if (text.length > maxLength) return false;
  try {
    return !isTooDeep(JSON.parse(text));
  } catch {
    return false;
  }
}

function bytes(reported: number): number {
  return Number.isSafeInteger(reported) && reported >= 0 ? reported : 0;
}

function parsedObject(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Characters of its error output that are kept, to say why it did not start. */
const MAX_STDERR_LENGTH = 2_000;
/** Milliseconds for its output to arrive after its exit, and for its pipes to close after it was killed. */
const CLOSE_MS = 2_000;
/** Characters of information that a program may write about itself. */
const MAX_INFO_LENGTH = 1_000;

/** The events of a program that was started. */
interface ProgramEvents {
  data(chunk: Buffer): void;
  /** Called once, with the reason. */
  ended(reason: Pick<ExecutionError, 'kind' | 'message'>): void;
}

/** A program in a separate process group. */
class StartedProgram {
  /** The beginning of its error output. */
  stderr = '';
  /** The text of its file descriptor 4. */
  private info = '';
  private readonly child: ChildProcess;
  private readonly program: Program;
  private readonly events: ProgramEvents;
  private readonly closed: Promise<void>;
  private hasEnded = false;

  constructor(program: Program, events: ProgramEvents) {
    const { file, args, env, cwd, user, extraInput } = program;
    this.program = program;
    this.events = events;
    this.child = spawn(file, args, {
      env,
      cwd,
      ...(user === undefined ? {} : { uid: user, gid: user }),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', ...extraStreams(program)],
    });
    const { child } = this;
    this.closed = new Promise((resolve) => {
      child.once('close', () => resolve());
      child.once('error', () => resolve());
    });
    child.once('error', (error) => this.end({ kind: 'protocol', message: `"${file}" cannot be started: ${errorMessage(error)}` }));
    child.once('close', (code, signal) => this.end(this.reasonOf(code, signal)));
    // Its descendants may hold the pipes open.
    child.once('exit', (code, signal) => setTimeout(() => this.end(this.reasonOf(code, signal)), CLOSE_MS).unref());
    this.listen(extraInput);
  }

  /** The peak memory of the code in bytes, as read by the worker; undefined if only the program itself knows it. */
  get memoryUsedBytes(): number | undefined {
    return this.program.memory === undefined ? undefined : (this.program.memory.read(this.info) ?? 0);
  }

  /** Writes a line. It is lost if the program has ended. */
  write(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Sets whether the program keeps the worker's process alive. */
  hold(isHeld: boolean): void {
    for (const one of [this.child, ...this.child.stdio]) {
      const handle = one as { ref?: () => void; unref?: () => void; destroyed?: boolean } | null | undefined;
      if (handle?.destroyed === true) continue;
      if (isHeld) handle?.ref?.();
      else handle?.unref?.();
    }
  }

  /** Kills all processes of its group, and stops reading. Returns when its pipes are closed. */
  async kill(): Promise<void> {
    this.hasEnded = true;
    this.hold(true);
    this.killGroup();
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
    this.child.stdin?.destroy();
    this.child.stdio[4]?.destroy();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([this.closed, late]);
    clearTimeout(timer);
    this.hold(false);
  }

  private listen(extraInput: Uint8Array | undefined): void {
    const { stdin, stdout, stderr } = this.child;
    // Absent for a program with only the standard streams.
    const extra = this.child.stdio[3] as Writable | null | undefined;
    const info = this.child.stdio[4] as Readable | null | undefined;
    const ignore = (): void => undefined;
    // A broken pipe means that the process ends, which is reported separately.
    for (const stream of [stdin, stdout, stderr, extra, info]) stream?.on('error', ignore);
    info?.on('data', (chunk: Buffer) => {
      this.info = (this.info + chunk.toString('utf8')).slice(0, MAX_INFO_LENGTH);
    });
    stdout?.on('data', (chunk: Buffer) => {
      if (!this.hasEnded) this.events.data(chunk);
    });
    stderr?.on('data', (chunk: Buffer) => {
      if (this.stderr.length < MAX_STDERR_LENGTH) this.stderr += chunk.toString('utf8').slice(0, MAX_STDERR_LENGTH - this.stderr.length);
    });
    extra?.end(extraInput);
  }

  private killGroup(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The process group is already gone.
    }
  }

  private end(reason: Pick<ExecutionError, 'kind' | 'message'>): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.killGroup();
    this.events.ended(reason);
  }

  private reasonOf(code: number | null, signal: NodeJS.Signals | null): Pick<ExecutionError, 'kind' | 'message'> {
    const known = code === null ? undefined : this.program.exits?.[code];
    return known ?? { kind: 'protocol', message: `The process ended by itself, with ${signal ?? `code ${code}`}` };
  }
}

/** The streams of a program in addition to the standard streams. */
function extraStreams({ extraInput, memory }: Program): ('pipe' | 'ignore')[] {
  if (extraInput === undefined && memory === undefined) return [];
  return [extraInput === undefined ? 'ignore' : 'pipe', memory === undefined ? 'ignore' : 'pipe'];
}

/** The settings that a process is started with. */
export interface ProcessSettings extends ThreadSettings {
  language: CodeLanguage;
  /** Characters of JSON of a final answer, of the values of a namespace, of a scratchpad, and of the arguments of a call. */
  answerLength: number;
  namespaceLength: number;
  scratchpadLength: number;
  argumentsLength: number;
  /** Characters of JSON of the calls of a segment together, calls of a cell, and its segments. */
  batchLength: number;
  calls: number;
  segments: number;
}

/** The fields of an executor's definition that a process needs. */
export interface ProcessDefinition {
  language: CodeLanguage;
  limits: ExecutionLimits;
  allowedImports: readonly string[];
}

/** The settings of a process. Throws a UsageError for a limit that its frames have no room for. */
export function processSettings({ language, limits, allowedImports }: ProcessDefinition, provided: Provided): ProcessSettings {
  return {
    language,
    ...threadSettings(limits, allowedImports, provided),
    answerLength: MAX_ANSWER_LENGTH,
    namespaceLength: MAX_NAMESPACE_LENGTH,
    scratchpadLength: MAX_SCRATCHPAD_LENGTH,
    argumentsLength: MAX_ARGUMENTS_LENGTH,
    batchLength: MAX_BATCH_LENGTH,
    calls: MAX_CALLS,
    segments: MAX_SEGMENTS,
  };
}

/** A program that runs code, as the worker starts it for each namespace. */
export interface Program {
  file: string;
  args: readonly string[];
  /** The variables of its environment. */
  env: Readonly<Record<string, string>>;
  /** The working directory. Default: the worker's. */
  cwd?: string;
  /** The user and the group that it runs as. Default: the worker's. */
  user?: number | undefined;
  /** Bytes that it can read from its file descriptor 3. */
  extraInput?: Uint8Array;
  /** Settings in addition to the common ones. */
  settings?: JsonObject;
  /** The errors that its exit codes stand for. A timeout is only believed if the time was up. */
  exits?: Readonly<Record<number, ExecutionError>>;
  /** Absent: the memory of the code is the program's own report. */
  memory?: ProgramMemory;
}

/** How the worker itself reads the memory of the code. */
interface ProgramMemory {
  /** Returns the bytes, from the information that the program wrote to its file descriptor 4; undefined if unknown. */
  read: (info: string) => number | undefined;
}
