import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

const options = { cwd: process.cwd(), env: process.env, limitSeconds: 30, print: (): void => undefined };
const node = (script: string): string[] => [process.execPath, '-e', script];

/** Starts a process that runs until it is killed, and that has the output of its parent. */
const LEAVE_ONE =
  "require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' }).unref();";

test('a command has its exit code, and its output on both streams', async () => {
  let printed = '';
  const script = "console.log('out'); console.error('err'); process.exitCode = 3";
  const result = await runCommand(node(script), { ...options, print: (text) => (printed += text) });
  expect(result).toMatchObject({ code: 3, output: printed });
  expect(printed.trim().split('\n').toSorted()).toEqual(['err', 'out']);
});

test.each([
  ['waits too long', 'setInterval(() => {}, 1000)'],
  ['waits for a process that does', `${LEAVE_ONE} setInterval(() => {}, 1000)`],
])('a command that %s is ended, and says so', async (_, script) => {
  const result = await runCommand(node(script), { ...options, limitSeconds: 1 });
  expect(result.code).not.toBe(0);
  expect(result.output).toContain('was ended after 1 s');
});

test('a command that leaves a process behind still ends', async () => {
  expect(await runCommand(node(LEAVE_ONE), options)).toEqual({ code: 0, output: '' });
}, 20_000);

test('a program that does not exist is a failure', async () => {
  expect(await runCommand(['no-such-program'], options)).toMatchObject({
    code: 127,
    output: expect.stringContaining('no-such-program: not found'),
  });
});
