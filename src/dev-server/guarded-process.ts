import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../core/domain/errors.ts';

/**
 * Makes the program the leader of its own process group, so that Ctrl-C in the terminal does not reach it. A watcher
 * in that group reads a pipe that only this process holds open. However this process dies, even by SIGKILL, the pipe
 * closes, and the watcher ends the group and removes the unfinished directory. `exec` keeps the program's pid.
 */
const GUARD = `
unfinished=$1; shift
exec 3<&0 </dev/null
(
  trap '' TERM INT HUP
  PATH="$PATH:/usr/bin:/bin"
  read -r line <&3
  kill -TERM 0
  sleep 1
  [ -z "$unfinished" ] || rm -rf -- "$unfinished"
  sleep 2
  kill -KILL 0
) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
`;

const OUTPUT_CHARS = 16_384;

/** A program to run. `unfinished` is a directory that is worthless if the program is interrupted. */
export interface ProcessSpec {
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  unfinished?: string;
  onOutput?: (text: string) => void;
}

/** The end of a process; `code` is null if a signal ended it. */
interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process in its own group that never outlives this one. */
export interface GuardedProcess {
  /** The id of the program and of its group; undefined if it could not be started. */
  readonly pid: number | undefined;
  /**
   * Resolves when the whole group has ended. Never rejects: a program that cannot be started has ended with code 127.
   */
  readonly ended: Promise<ProcessEnd>;
  readonly hasEnded: () => boolean;
  /** The end of what it printed, stdout and stderr together. */
  readonly output: () => string;
  /** Ends the group: SIGTERM, then SIGKILL after `graceMs`. Safe to call twice, and after the end. */
  readonly stop: (graceMs: number) => Promise<void>;
}

/** Starts a program in its own process group, with its output captured. */
export function startProcess(spec: ProcessSpec): GuardedProcess {
  const windows = process.platform === 'win32';
  const child = spawn(
    windows ? spec.file : '/bin/sh',
    windows ? spec.args : ['-c', GUARD, 'sh', spec.unfinished ?? '', spec.file, ...spec.args],
    {
      detached: !windows,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: spec.env,
      windowsHide: true,
      ...(spec.cwd !== undefined && { cwd: spec.cwd }),
    },
  );
  let output = '';
  let running = true;
  const capture = (chunk: Buffer): void => {
    const text = chunk.toString();
    output = (output + text).slice(-OUTPUT_CHARS);
    spec.onOutput?.(text);
  };
  child.stdout.on('data', capture);
  child.stderr.on('data', capture);
  child.stdin.on('error', () => undefined);

  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined) killGroup(child.pid, signal, windows);
  };
  const forget = atExit(() => kill('SIGKILL'));
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('error', (error) => {
      output += errorMessage(error);
      if (child.pid === undefined) resolve({ code: 127, signal: null });
    });
    // The leader has ended: the rest of its group ends too, including the watcher.
    child.once('exit', () => kill('SIGKILL'));
    child.once('close', (code, signal) => resolve({ code, signal }));
  }).finally(() => {
    running = false;
    forget();
  });
  const stop = async (graceMs: number): Promise<void> => {
    if (!running) return;
    kill('SIGTERM');
    await Promise.race([ended, delay(graceMs, undefined, { ref: false })]);
    if (running) kill('SIGKILL');
    await ended;
  };
  return { pid: child.pid, ended, hasEnded: () => !running, output: () => output, stop };
}

function killGroup(pid: number, signal: NodeJS.Signals, windows: boolean): void {
  try {
    process.kill(windows ? pid : -pid, signal);
  } catch {
    // The group has already ended.
  }
}

const cleanups: (() => void)[] = [];
let listening = false;

/**
 * Runs a synchronous cleanup when this process exits, the newest one first. Returns a function that removes it again.
 */
export function atExit(cleanup: () => void): () => void {
  if (!listening) process.on('exit', runCleanups);
  listening = true;
  cleanups.push(cleanup);
  return () => {
    const index = cleanups.indexOf(cleanup);
    if (index >= 0) cleanups.splice(index, 1);
  };
}

function runCleanups(): void {
  for (const cleanup of cleanups.toReversed()) {
    try {
      cleanup();
    } catch {
      // The process is ending: the other cleanups are more important than the error of this one.
    }
  }
}
