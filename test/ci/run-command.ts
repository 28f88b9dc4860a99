import { startProcess } from '../../src/dev-server/guarded-process.ts';

/** How a command is run. */
export interface CommandOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Seconds after which it is ended, with all processes that it has started. */
  limitSeconds: number;
  /** Called with its output as it arrives. */
  print: (text: string) => void;
}

/** The end of a command. */
export interface CommandResult {
  code: number;
  /** The output on both streams. */
  output: string;
}

/** A command that does not end on request is killed after this time. */
const KILLED_AFTER_MS = 30_000;

/**
 * Runs a command to its end or its time limit: its code is then not 0, and the output says so. It has its own process group, so that npm,
 * its shell and their processes end together, and do not outlive this process.
 */
export async function runCommand([program, ...args]: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { cwd, env, limitSeconds, print } = options;
  if (program === undefined) throw new Error('There is no command');
  let output = '';
  const take = (text: string): void => {
    output += text;
    print(text);
  };
  const command = startProcess({ file: program, args, cwd, env, onOutput: take });
  const limit = setTimeout(() => {
    take(`\n"${program}" was ended after ${limitSeconds} s\n`);
    void command.stop(KILLED_AFTER_MS);
  }, limitSeconds * 1_000);
  const interrupted = (): void => process.exit(130);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  const { code } = await command.ended;
  clearTimeout(limit);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupted);
  return { code: code ?? 137, output };
}
