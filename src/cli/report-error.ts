import { CommanderError } from 'commander';
import { errorCode, errorMessage } from '../core/domain/errors/error.ts';
import { EXIT_CODES, type ExitName, exitOfError } from './exit-codes.ts';
import { Interruption } from './interruption.ts';
import { printable } from '../core/domain/content/printable.ts';
import { type ServerProblem, serverProblem } from './server-problem.ts';
import type { Terminal } from './terminal.ts';

/** Prints the error on stderr and returns the exit code. Only a defect is printed with its stack. */
export function reportError(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof Interruption) return error.exitCode;
  // Commander has already printed its own line, and a request for help is not an error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
  const { exit, line } = explained(error);
  stderr.write(`longhaul: ${printable(line)}\n`);
  return EXIT_CODES[exit].code;
}

function explained(error: unknown): ServerProblem {
  const exit: ExitName = exitOfError(error);
  if (exit !== 'unexpected') return { exit, line: errorMessage(error) };
  const problem = serverProblem(error);
  if (problem !== undefined) return problem;
  const code = errorCode(error);
  if (code !== undefined && code !== 'internal') return { exit, line: errorMessage(error) };
  const stack = error instanceof Error ? error.stack : undefined;
  return { exit, line: `unexpected error: ${stack ?? errorMessage(error)}` };
}
