import { expect, test } from 'vitest';
import { DevServerError } from '../../src/dev-server/start-flags.ts';
import { EXIT_CODES, exitCodeOfRun, exitOfError, reportError } from '../../src/cli/exit-codes.ts';
import { Interruption } from '../../src/cli/terminal.ts';
import { errorPage, LonghaulError, UsageError } from '../../src/core/domain/errors.ts';
import { TERMINAL_STATUSES } from '../../src/core/domain/run.ts';

function reported(error: unknown): { code: number; stderr: string } {
  let stderr = '';
  const code = reportError(error, { stderr: { write: (text) => (stderr += text) } });
  return { code, stderr };
}

test('every exit code has one meaning', () => {
  const codes = Object.values(EXIT_CODES).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
});

test('the status of a run that was waited for decides the exit code', () => {
  expect(TERMINAL_STATUSES.map((status) => [status, exitCodeOfRun(status)])).toEqual([
    ['completed', 0],
    ['max_iterations_reached', 5],
    ['limit_reached', 5],
    ['error', 3],
    ['cancelled', 4],
  ]);
});

test.each([
  ['run_not_found', 'not_found'],
  ['server_unreachable', 'unreachable'],
  ['wait_timeout', 'wait_timeout'],
  ['run_exists', 'usage'],
  ['invalid_input', 'usage'],
  ['run_terminated', 'run_error'],
  ['run_timed_out', 'run_error'],
  ['internal', 'unexpected'],
  ['invalid_arguments', 'usage'],
  ['already_decided', 'refused'],
  ['key_reused', 'refused'],
  ['unknown_call', 'refused'],
  ['digest_mismatch', 'refused'],
  ['not_authorized', 'refused'],
  ['run_ended', 'refused'],
] as const)('%s ends a command as %s', (code, exit) => {
  expect(exitOfError(new LonghaulError(code, 'x'))).toBe(exit);
});

test('an expected error is one line without a stack', () => {
  expect(reported(new LonghaulError('run_not_found', 'no run "x"'))).toEqual({
    code: 6,
    stderr: 'longhaul: no run "x"\n',
  });
  expect(reported(new UsageError('no agents'))).toEqual({ code: 2, stderr: 'longhaul: no agents\n' });
  expect(reported(new DevServerError('nothing found'))).toEqual({ code: 7, stderr: 'longhaul: nothing found\n' });
});

test('the page of an error is on a separate line, unless its message says what to write instead', () => {
  for (const code of ['not_authorized', 'run_terminated', 'archive_failed'] as const)
    expect(reported(new LonghaulError(code, 'x')).stderr).toBe(`longhaul: x\n  See ${errorPage(code)}\n`);
  for (const code of ['invalid_input', 'unknown_agent', 'run_not_found', 'server_unreachable', 'wait_timeout', 'invalid_program'] as const)
    expect(reported(new LonghaulError(code, 'x')).stderr).toBe('longhaul: x\n');
});

test('an interruption is not reported', () => {
  expect(reported(new Interruption('SIGINT'))).toEqual({ code: 130, stderr: '' });
  expect(reported(new Interruption('SIGTERM'))).toEqual({ code: 143, stderr: '' });
  expect(reported(new Interruption('output closed'))).toEqual({ code: 0, stderr: '' });
});

test('an error of gRPC is one line, at any position in the chain of causes', () => {
  const status = (code: number, details: string): Error =>
    new Error('Failed to start Workflow', { cause: Object.assign(new Error(`${code}: ${details}`), { code, details }) });
  expect(reported(status(14, 'no connection'))).toEqual({
    code: 7,
    stderr: 'longhaul: The Temporal server no longer answers (no connection): try again when it is back. Runs are not lost meanwhile\n',
  });
  expect(reported(status(16, 'bad key')).stderr).toContain('refuses the request (bad key): check the credentials');
  expect(reported(status(5, 'Namespace x is not found.'))).toMatchObject({ code: 6 });
  expect(reported(status(3, 'bad id'))).toEqual({ code: 1, stderr: 'longhaul: The Temporal server answers with an error: bad id\n' });
});

test('only an unexpected error is printed with a stack', () => {
  const { code, stderr } = reported(new TypeError('x is undefined'));
  expect(code).toBe(1);
  expect(stderr).toContain('longhaul: unexpected error: TypeError: x is undefined');
  expect(stderr).toContain('    at ');
});
