import { errorCode, type ErrorCode, isErrorCode } from '../core/domain/errors.ts';
import type { TerminalStatus } from '../core/domain/run.ts';

/** The exit codes: one table for `--help`, `docs/cli.md` and the code. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done; for a command that waits, the run has completed' },
  unexpected: { code: 1, meaning: 'unexpected error: a defect, or an error without an exit code of its own' },
  usage: { code: 2, meaning: 'usage error: arguments, input or the agents module are not valid' },
  run_error: { code: 3, meaning: 'the run ended with status "error", was terminated or timed out' },
  run_cancelled: { code: 4, meaning: 'the run ended with status "cancelled"' },
  run_limit: { code: 5, meaning: 'a limit ended the run: status "max_iterations_reached" or "limit_reached"' },
  not_found: { code: 6, meaning: 'the namespace has no such run, or the server no such namespace' },
  unreachable: { code: 7, meaning: 'no Temporal server answers, or none could be provided' },
  wait_timeout: { code: 8, meaning: 'the wait timed out; the run goes on' },
  diverged: { code: 9, meaning: 'replay: the code does not do what the history of a run records' },
  incomplete: { code: 10, meaning: 'export: parts of the run are missing' },
  refused: {
    code: 11,
    meaning: 'the run refuses the request: the call is not pending, the run has ended, or the caller is not authorized',
  },
  problems: { code: 12, meaning: 'the program has problems: check prints all of them' },
  interrupted: { code: 130, meaning: 'Ctrl-C while waiting; the run goes on' },
} as const;

/** The name of an exit code. */
export type ExitName = keyof typeof EXIT_CODES;

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
  not_permitted: 'refused',
  not_authorized: 'refused',
  run_ended: 'refused',
  session_limit: 'refused',
};

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

/** Returns the exit code of a chat whose session has ended: that of its error, if the code of the error has one, else that of its status. */
export function exitCodeOfResult({ status, errorCode: code }: { status: TerminalStatus; errorCode?: string | undefined }): number {
  const exit = status === 'error' && code !== undefined && isErrorCode(code) ? EXITS[code] : undefined;
  return exit === undefined ? exitCodeOfRun(status) : EXIT_CODES[exit].code;
}

/** Returns the table as text, for `--help`. */
export function exitCodesText(): string {
  const lines = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`);
  return ['Exit codes:', ...lines].join('\n');
}
