import { expect, test } from 'vitest';
import { callCli } from '../call-cli.ts';

async function complete(...words: string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await callCli(['completion', 'bash', '--', ...words], { env: { TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

test.each<[what: string, words: string[], expected: string[]]>([
  ['commands by their beginning', ['appro'], ['approvals', 'approve']],
  ['commands below another', ['session', 're'], ['reset']],
  ['the options of a command and of all commands', ['list', '--ta'], ['--tag', '--task-queue', '--tag'].slice(0, 2)],
  ['the choices of an option', ['list', '--status', 'run'], ['running']],
  ['the choices after an equals sign', ['list', '--status=run'], ['--status=running']],
  ['a word after the value of an option', ['list', '--limit', '3', '--stat'], ['--status']],
  ['a word after a short option with a value', ['worker', '-a', './agents.ts', '--gra'], ['--grace']],
  ['files for a module', ['worker', '--agents', './'], [':files']],
  ['files for an argument', ['check', ''], [':files']],
  ['nothing for a number', ['list', '--limit', ''], []],
  ['nothing for a run without a server', ['show', ''], []],
  ['nothing after the last argument', ['show', 'run-1', ''], []],
  ['no options after --', ['show', '--', '--f'], []],
  ['nothing for an unknown command', ['fly', '--hi'], []],
])('%s', async (_, words, expected) => {
  expect((await complete(...words)).toSorted()).toEqual(expected.toSorted());
});

test('every command is proposed', async () => {
  const proposed = await complete('');
  expect(proposed).toEqual(expect.arrayContaining(['dev', 'start', 'doctor', 'completion', 'session', 'keys']));
});

test('a shell without a script is refused, with the nearest one', async () => {
  const { exitCode, stderr } = await callCli(['completion', 'fsh']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain('There is one for bash, zsh, fish, powershell');
});

test('the schema of programs is printed', async () => {
  const { stdout, exitCode } = await callCli(['schema', 'program']);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ type: 'object', properties: { version: {} } });
  expect((await callCli(['schema', 'programm'])).stderr).toContain('Did you mean "program"?');
});
