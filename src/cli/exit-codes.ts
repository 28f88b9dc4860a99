import { CommanderError, type Help } from 'commander';
import {
  connectionReason,
  errorCode,
  type ErrorCode,
  errorMessage,
  errorPage,
  isErrorCode,
  isOfConnection,
} from '../core/domain/errors.ts';
import type { TerminalStatus } from '../core/domain/run.ts';
import { printable } from '../core/domain/text.ts';
import { Interruption, type Terminal } from './terminal.ts';

/** The exit codes: one table for `--help`, `docs/cli.md` and the code. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done; for a command that waits, the run has completed' },
  unexpected: { code: 1, meaning: 'unexpected error: a defect, or any error that is not listed here; doctor: a check has failed' },
  usage: { code: 2, meaning: 'usage error: the arguments, the input or the agents module are invalid' },
  run_error: { code: 3, meaning: 'the run ended with status "error", was terminated or timed out' },
  run_cancelled: { code: 4, meaning: 'the run ended with status "cancelled"' },
  run_limit: { code: 5, meaning: 'a limit ended the run: status "max_iterations_reached" or "limit_reached"' },
  not_found: { code: 6, meaning: 'the namespace has no such run, or the server no such namespace' },
  unreachable: { code: 7, meaning: 'no Temporal server answers, or none could be provided' },
  wait_timeout: { code: 8, meaning: 'the wait timed out; the run continues' },
  diverged: { code: 9, meaning: 'replay: the code does not do what the history of a run records' },
  incomplete: {
    code: 10,
    meaning: 'export: parts of the run, or of what is of the user, are missing; list, approvals: runs could not be read',
  },
  refused: {
    code: 11,
    meaning: 'the run refuses the request: the call is not pending, the run has ended, or the caller is not authorized',
  },
  problems: { code: 12, meaning: 'the program has problems: check prints all of them' },
  interrupted: { code: 130, meaning: 'Ctrl-C while waiting; the run continues' },
} as const;

type ExitName = keyof typeof EXIT_CODES;

/** Returns the exit code of a command that waited for a run. */
export function exitCodeOfRun(status: TerminalStatus): number {
  switch (status) {
    case 'completed':
      return EXIT_CODES.ok.code;
    case 'error':
      return EXIT_CODES.run_error.code;
    case 'cancelled':
      return EXIT_CODES.run_cancelled.code;
    case 'max_iterations_reached':
    case 'limit_reached':
      return EXIT_CODES.run_limit.code;
  }
}

/** The exit code for each error code. An error code that is missing here is unexpected. */
const EXITS: Partial<Record<ErrorCode, ExitName>> = {
  invalid_input: 'usage',
  unknown_agent: 'usage',
  unknown_program: 'usage',
  invalid_program: 'problems',
  payload_too_large: 'usage',
  run_exists: 'usage',
  run_open: 'usage',
  run_not_found: 'not_found',
  not_a_run: 'not_found',
  namespace_not_found: 'not_found',
  history_removed: 'not_found',
  run_terminated: 'run_error',
  run_timed_out: 'run_error',
  ambiguous_call: 'refused',
  budget_exceeded: 'refused',
  server_unreachable: 'unreachable',
  wait_timeout: 'wait_timeout',
  encryption_key_missing: 'usage',
  decryption_failed: 'usage',
  decompression_failed: 'usage',
  invalid_arguments: 'usage',
  unknown_call: 'refused',
  digest_mismatch: 'refused',
  already_decided: 'refused',
  key_reused: 'refused',
  not_permitted: 'refused',
  not_authorized: 'refused',
  run_ended: 'refused',
  session_limit: 'refused',
};

/** Returns the exit code of a command that fails with an error of this code. */
export function exitCodeOfError(code: ErrorCode): number {
  return EXIT_CODES[EXITS[code] ?? 'unexpected'].code;
}

/** Returns the exit code of a command that failed with this error. */
export function exitOfError(error: unknown): ExitName {
  const code = errorCode(error);
  if (code !== undefined) return EXITS[code] ?? 'unexpected';
  switch (error instanceof Error ? error.name : '') {
    case 'UsageError':
      return 'usage';
    case 'DevServerError':
      return 'unreachable';
    default:
      return 'unexpected';
  }
}

/** Returns the exit code of a chat whose session has ended: from its error code if there is an exit code for it, else from its status. */
export function exitCodeOfResult({ status, errorCode: code }: { status: TerminalStatus; errorCode?: string | undefined }): number {
  const exit = status === 'error' && code !== undefined && isErrorCode(code) ? EXITS[code] : undefined;
  return exit === undefined ? exitCodeOfRun(status) : EXIT_CODES[exit].code;
}

/** Returns the table as text, for `--help`. */
export function exitCodesText(help: Help): string {
  const rows = Object.values(EXIT_CODES).map(({ code, meaning }) => help.formatItem(String(code), 3, meaning, help));
  return ['Exit codes:', ...rows].join('\n');
}

/** Errors with these exit codes say in their message what to write instead, or where to look: a page would only repeat it. */
const EXPLAINED_BY_MESSAGE: readonly ExitName[] = ['usage', 'not_found', 'unreachable', 'wait_timeout', 'problems'];

/**
 * Prints the error on stderr, with the address of its help page on a separate line, and returns the exit code. Only a
 * defect is printed with its stack.
 */
export function reportError(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof Interruption) return error.exitCode;
  // Commander has already printed its own line, and a request for help is not an error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
  const { exit, line } = explainError(error);
  const code = errorCode(error);
  const page = code === undefined || EXPLAINED_BY_MESSAGE.includes(exit) ? '' : `  See ${errorPage(code)}\n`;
  stderr.write(`longhaul: ${printable(line)}\n${page}`);
  return EXIT_CODES[exit].code;
}

function explainError(error: unknown): ServerProblem {
  const exit: ExitName = exitOfError(error);
  if (exit !== 'unexpected') return { exit, line: errorMessage(error) };
  const problem = serverProblem(error);
  if (problem !== undefined) return problem;
  const code = errorCode(error);
  if (code !== undefined && code !== 'internal') return { exit, line: errorMessage(error) };
  const stack = error instanceof Error ? error.stack : undefined;
  return { exit, line: `unexpected error: ${stack ?? errorMessage(error)}` };
}

/** The exit code for a problem with the server, and the line that explains it. */
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
    // The SDK's worker fails with the message of its Rust core.
    if (isOfConnection(errorMessage(cause))) return serverAway(errorMessage(cause));
  }
  return undefined;
}

/** True for an error of gRPC, recognized by its shape because loading gRPC takes longer than most commands. */
function isStatus(error: object): error is { code: number; details: string } {
  return 'code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string';
}

function fromStatus({ code, details }: { code: number; details: string }): ServerProblem {
  if (AWAY.includes(code)) return serverAway(details);
  if (REFUSALS.includes(code)) {
    return { exit: 'unreachable', line: `The Temporal server refuses the request (${details}): check the credentials and the namespace` };
  }
  if (code === NOT_FOUND) return noNamespace(details);
  return { exit: 'unexpected', line: `The Temporal server answers with an error: ${details}` };
}

function serverAway(why: string): ServerProblem {
  const line = `The Temporal server no longer answers (${connectionReason(why)}): try again when it is back. Runs are not lost meanwhile`;
  return { exit: 'unreachable', line };
}

function noNamespace(details: string): ServerProblem {
  return {
    exit: 'not_found',
    line: `The Temporal server cannot find it: ${details.replace(/\.$/, '')}. Check --namespace, or TEMPORAL_NAMESPACE`,
  };
}
