import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';
import type { Program } from './program.ts';

/** Characters of its error output that are kept: those that say why it did not start. */
const MAX_STDERR_LENGTH = 2_000;
/** Milliseconds that what it has written may take to arrive after its exit, and that its pipes may stay open after it was killed. */
const CLOSE_MS = 2_000;
/** Characters that a program may write about itself. */
const MAX_INFO_LENGTH = 1_000;

/** The events of a program that was started. */
export interface ProgramEvents {
  data(chunk: Buffer): void;
  /** Called once, with the reason. */
  ended(reason: Pick<ExecutionError, 'kind' | 'message'>): void;
}

/** A program that was started in a process group of its own. */
export class StartedProgram {
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
      stdio: ['pipe', 'pipe', 'pipe', ...besides(program)],
    });
    const { child } = this;
    this.closed = new Promise((resolve) => {
      child.once('close', () => resolve());
      child.once('error', () => resolve());
    });
    child.once('error', (error) => this.end({ kind: 'protocol', message: `"${file}" cannot be started: ${errorMessage(error)}` }));
    child.once('close', (code, signal) => this.end(this.reasonOf(code, signal)));
    // What it left behind may hold its pipes open.
    child.once('exit', (code, signal) => setTimeout(() => this.end(this.reasonOf(code, signal)), CLOSE_MS).unref());
    this.listen(extraInput);
  }

  /** Bytes that the code has taken at most, as the worker reads them; undefined if only the program itself can tell. */
  get memoryUsedBytes(): number | undefined {
    return this.program.memory === undefined ? undefined : (this.program.memory.read(this.info) ?? 0);
  }

  /** Writes a line. A program that has ended does not hear it. */
  write(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  /** Keeps the worker's process alive, or no longer. */
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
    // Absent for a program that has the standard streams alone.
    const extra = this.child.stdio[3] as Writable | null | undefined;
    const info = this.child.stdio[4] as Readable | null | undefined;
    const ignore = (): void => undefined;
    // A pipe that breaks is a process that ends, which is reported by itself.
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
      // There is no process of the group any more.
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

/** The streams of a program besides the standard streams. */
function besides({ extraInput, memory }: Program): ('pipe' | 'ignore')[] {
  if (extraInput === undefined && memory === undefined) return [];
  return [extraInput === undefined ? 'ignore' : 'pipe', memory === undefined ? 'ignore' : 'pipe'];
}
