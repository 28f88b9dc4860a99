import { createProgram } from './program/program.ts';
import { reportError } from './report-error.ts';
import type { Terminal } from './terminal.ts';

/** Runs one command line (without the program's name) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode = 0;
  const program = createProgram(terminal, (code) => (exitCode = code));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    return reportError(error, terminal);
  }
}
