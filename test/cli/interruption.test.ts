import { expect, test } from 'vitest';
import { Interruption, untilInterrupted } from '../../src/cli/terminal.ts';
import { runCli } from '../../src/cli/run-cli.ts';

test('a command that is interrupted while it reads stdin exits with the code of the signal, and prints nothing', async () => {
  const controller = new AbortController();
  const endless = {
    async *[Symbol.asyncIterator](): AsyncGenerator<string> {
      controller.abort(new Interruption('SIGINT'));
      await new Promise(() => undefined);
      yield '';
    },
  };
  let said = '';
  const stream = { write: (text: string) => (said += text) };
  const terminal = { env: {}, stdin: endless, stdout: stream, stderr: stream, signal: controller.signal };
  expect(await runCli(['start', 'clerk', '-'], terminal)).toBe(130);
  expect(said).toBe('');
});

test('work that ends in time gives its value, or its own error', async () => {
  const { signal } = new AbortController();
  expect(await untilInterrupted(signal, Promise.resolve(3))).toBe(3);
  await expect(untilInterrupted(signal, Promise.reject(new Error('own')))).rejects.toThrow('own');
});

test('work that begins after the interruption is not waited for', async () => {
  const signal = AbortSignal.abort(new Interruption('SIGTERM'));
  await expect(untilInterrupted(signal, new Promise(() => undefined))).rejects.toMatchObject({ by: 'SIGTERM', exitCode: 143 });
});
