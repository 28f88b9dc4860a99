import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The command line in a separate process. */
export interface CliProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The exit code, once all output is there; or the name of the signal that ended the process. */
  readonly ended: Promise<number | string>;
}

/**
 * Starts the command line, in this folder or another one. `env` is added to this process's environment. `main` is its program, by default
 * the one of the sources.
 */
export function startCli(args: readonly string[], env: Record<string, string> = {}, cwd = process.cwd(), main = MAIN): CliProcess {
  const child = spawn(process.execPath, [main, ...args], { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => (typeof code === 'number' ? code : String(signal)));
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Waits until the condition holds, or throws an error with the output of the process. */
export async function untilSaid(cli: CliProcess, condition: () => boolean, what: string, withinMs = 30_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!condition()) {
    const over = cli.child.exitCode !== null || Date.now() > deadline;
    if (over && !condition()) throw new Error(`Waited for ${what}; stdout: ${cli.stdout()}; stderr: ${cli.stderr()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
