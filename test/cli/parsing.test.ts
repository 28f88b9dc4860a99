import { expect, test } from 'vitest';
import { callCli } from './call-cli.ts';

test('help goes to stdout, names every command, and holds the exit codes', async () => {
  const { exitCode, stdout, stderr } = await callCli(['--help']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  for (const command of ['dev', 'worker', 'start', 'show', 'events', 'result', 'cancel', 'list', 'codec-server']) {
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  }
  expect(stdout).toContain('7    no Temporal server answers');
});

test('the help of a command shows the global options too', async () => {
  const { stdout } = await callCli(['start', '--help']);
  expect(stdout).toContain('--if-exists');
  expect(stdout).toContain('--task-queue');
});

test('a call without a command is a usage error that shows the help', async () => {
  const { exitCode, stdout, stderr } = await callCli([]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('Usage: longhaul');
});

test('the version is that of the package', async () => {
  expect((await callCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  [['nope'], "unknown command 'nope'"],
  [['start'], "missing required argument 'agent'"],
  [['start', 'clerk', 'hi', '--tempo'], "unknown option '--tempo'"],
  [['start', 'clerk'], 'There is no input'],
  [['start', 'clerk', 'hi', '--input-json', '"hi"'], 'There are two inputs'],
  [['start', 'clerk', '--input-json', '{'], 'That is not JSON'],
  [['start', 'clerk', 'hi', '--deps', '[1]'], 'Write a JSON object'],
  [['start', 'clerk', 'hi', '--max-iterations', '0'], 'Write a whole number of at least 1'],
  [['start', 'clerk', 'hi', '--if-exists', 'replace'], 'Allowed choices are refuse, return'],
  [['start', 'clerk', 'hi', '--wait-timeout', '0'], 'Write a number of seconds above 0'],
  [['result', 'r', '--wait-timeout', 'soon'], 'Write a number of seconds'],
  [['result', 'r', '--wait-timeout', '9e9'], 'Write a number of seconds'],
  [['events', 'r', '--from', '-1'], 'Write a whole number of at least 0'],
  [['list', '--status', 'done'], 'Allowed choices are completed'],
  [['list', '--limit', 'all'], 'Write a whole number of at least 1'],
  [['worker'], "required option '-a, --agents <module>' not specified"],
  [['dev', '--ui-port', '70000'], 'Write a port from 1 to 65535'],
  [['dev', '--namespace', 'other'], 'has the namespace "default" only'],
])('longhaul %j is a usage error that says so', async (args, message) => {
  const { exitCode, stdout, stderr } = await callCli(args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^longhaul: /);
  expect(stderr).not.toContain('    at ');
});
