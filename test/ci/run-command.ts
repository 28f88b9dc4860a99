import { spawn } from 'node:child_process';

/** How a command is run. */
export interface CommandOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Seconds after which it is ended, with all processes that it has started. */
  limitSeconds: number;
  /** Called with what it prints, as it comes. */
  print: (text: string) => void;
}

/** The end of a command. */
export interface CommandResult {
  code: number;
  /** What it has printed, on both streams. */
  output: string;
}

/** A process that a command leaves behind, and that holds its output open, is waited for so long, and then killed. */
const LEFT_BEHIND_MS = 5_000;

/** A command that does not end when it is asked to is killed after so long. */
const KILLED_AFTER_MS = 30_000;

/** Runs a command to its end, or to its time limit: its code is then not 0, and the output says so. */
export async function runCommand([program, ...args]: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { cwd, env, limitSeconds, print } = options;
  if (program === undefined) throw new Error('There is no command');
  // A group of its own: npm, its shell and what they start end together.
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  const take = (text: string): void => {
    output += text;
    print(text);
  };
  const end = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended in the meantime.
    }
  };
  const interrupted = (): void => {
    end('SIGTERM');
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', take);
  const limit = setTimeout(() => {
    take(`\n"${program}" was ended after ${limitSeconds} s\n`);
    end('SIGTERM');
  }, limitSeconds * 1_000);
  let leftBehind: NodeJS.Timeout | undefined;
  const kill = setTimeout(end, limitSeconds * 1_000 + KILLED_AFTER_MS, 'SIGKILL');
  try {
    return await new Promise<CommandResult>((resolve) => {
      child.on('error', (error) => resolve({ code: 127, output: `${output}"${program}" cannot be run: ${error.message}\n` }));
      child.on('exit', () => (leftBehind = setTimeout(end, LEFT_BEHIND_MS, 'SIGKILL')));
      child.on('close', (code) => resolve({ code: code ?? 137, output }));
    });
  } finally {
    clearTimeout(limit);
    clearTimeout(kill);
    clearTimeout(leftBehind);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted);
  }
}
