import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('./unhandled-rejection.ts', import.meta.url));

/** Runs the program in a separate process, because Vitest has a listener for rejections. */
function run(...args: string[]): Promise<{ code: number; lines: string[]; stderr: string }> {
  return new Promise((resolve) => {
    const done = execFile(process.execPath, [...args.filter((arg) => arg.startsWith('--')), PROGRAM, ...args], (_, stdout, stderr) =>
      resolve({ code: done.exitCode ?? -1, lines: stdout.trim().split('\n'), stderr }),
    );
  });
}

test('an unhandled rejection of a tool is logged with the tool and the run, and the process continues', async () => {
  const { code, lines, stderr } = await run();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const message = 'A promise of "careless" was rejected and not handled: await it, or add a catch';
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    output: { content: ['done'] },
    logged: [
      { level: 'ERROR', message, error: 'ApplicationFailure: forgotten', runId: 'run-1' },
      { level: 'ERROR', message, error: 'ApplicationFailure: forgotten, and late', runId: 'run-1' },
    ],
  });
  // No listener is left when no worker runs.
  expect(lines[1]).toBe('0');
});

test('an unhandled rejection of other code ends the process, as it does without a worker', async () => {
  const { code, stderr } = await run('outside');
  expect(code).toBe(1);
  expect(stderr).toContain('Error: not of a tool');
});

test('if Node is started with an option for rejections, Node follows it', async () => {
  const { code, stderr } = await run('--unhandled-rejections=strict');
  expect(code).toBe(1);
  expect(stderr).toContain('Error: forgotten');
});
