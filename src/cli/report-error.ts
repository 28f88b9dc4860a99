import { CommanderError } from 'commander';
import { printable } from '../core/domain/text.ts';
import { connectionReason, errorCode, errorMessage, isOfConnection } from '../core/domain/errors.ts';
import { EXIT_CODES, type ExitName, exitOfError } from './exit-codes.ts';
import { Interruption } from './interruption.ts';
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

/** The exit code of a command, and the line that explains it. */
interface ServerProblem {
  exit: ExitName;
  line: string;
}

/** The gRPC status codes that a command can receive once it is connected. */
const NOT_FOUND = 5;
const REFUSALS: readonly number[] = [7, 16];
const AWAY: readonly number[] = [4, 14];

/** Returns the problem if the error comes from the server or the connection to it; otherwise undefined. */
function serverProblem(error: unknown): ServerProblem | undefined {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = 'cause' in cause ? cause.cause : undefined) {
    if ('name' in cause && cause.name === 'NamespaceNotFoundError') return noNamespace(errorMessage(cause));
    if (isStatus(cause)) return fromStatus(cause);
    // The worker of the SDK fails with the words of its Rust core.
    if (isOfConnection(errorMessage(cause))) return away(errorMessage(cause));
  }
  return undefined;
}

/** True for an error of gRPC, recognised by its shape because loading gRPC takes longer than most commands. */
function isStatus(error: object): error is { code: number; details: string } {
  return 'code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string';
}

function fromStatus({ code, details }: { code: number; details: string }): ServerProblem {
  if (AWAY.includes(code)) return away(details);
  if (REFUSALS.includes(code)) {
    return { exit: 'unreachable', line: `The Temporal server refuses the request (${details}): check the credentials and the namespace` };
  }
  if (code === NOT_FOUND) return noNamespace(details);
  return { exit: 'unexpected', line: `The Temporal server answers with an error: ${details}` };
}

function away(why: string): ServerProblem {
  const line = `The Temporal server does not answer any more (${connectionReason(why)}): try again when it is back. Runs are not lost meanwhile`;
  return { exit: 'unreachable', line };
}

function noNamespace(details: string): ServerProblem {
  return {
    exit: 'not_found',
    line: `The Temporal server cannot find it: ${details.replace(/\.$/, '')}. Check --namespace, or TEMPORAL_NAMESPACE`,
  };
}
