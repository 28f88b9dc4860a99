import { type ChildProcess, spawn } from 'node:child_process';
import type { HookEvent } from '../../src/core/domain/hooks/hook-event.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { type ReadAnswer, readCommandEnd } from './hook-answer.ts';

/** The most bytes that a command may write to each of its streams. */
const MAX_OUTPUT_BYTES = 256_000;

/** The variables of the worker's environment that a command gets: what a program needs to be found and to run, and no secrets. */
const ENVIRONMENT = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot'];

/** The milliseconds that the pipes of a command may stay open after its end, while what it left behind holds them. */
const CLOSE_MS = 500;

/** Starts a command without a shell, in a process group of its own, writes the event to it as JSON, and reads its answer. */
export async function askCommand(command: readonly string[], on: HookEvent, payload: JsonObject, signal: AbortSignal): Promise<ReadAnswer> {
  const [file = '', ...args] = command;
  let child: ChildProcess | undefined;
  try {
    signal.throwIfAborted();
    child = spawn(file, args, { env: environment(), detached: true, shell: false, stdio: ['pipe', 'pipe', 'pipe'] });
    const { code, stdout, stderr } = await ended(child, JSON.stringify({ event: on, payload }), signal);
    return readCommandEnd(code, stdout, stderr);
  } catch (error) {
    return { type: 'failed', text: signal.aborted ? errorMessage(signal.reason) : `"${file}" cannot be run: ${errorMessage(error)}` };
  } finally {
    if (child !== undefined) killGroup(child);
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    ENVIRONMENT.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The end of a command, and what it wrote until then. */
interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

function ended(child: ChildProcess, input: string, signal: AbortSignal): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    const sizes = { stdout: 0, stderr: 0 };
    const end = (code: number | null): void =>
      resolve({ code, stdout: Buffer.concat(written.stdout).toString(), stderr: Buffer.concat(written.stderr).toString() });
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.on('data', (chunk: Buffer) => {
        sizes[name] += chunk.length;
        if (sizes[name] > MAX_OUTPUT_BYTES) reject(new Error(`it wrote more than ${MAX_OUTPUT_BYTES} bytes`));
        else written[name].push(chunk);
      });
    }
    // A command that does not read its input is no failure.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    child.once('error', reject);
    child.once('close', end);
    child.once('exit', (code) => setTimeout(() => end(code), CLOSE_MS).unref());
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Kills all processes of the group: a command may have started others. */
function killGroup({ pid, stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
}
