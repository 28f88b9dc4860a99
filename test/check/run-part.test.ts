import { expect, test } from 'vitest';
import { runPart, runParts } from './run-part.ts';

/** A part that runs a line of JavaScript. */
function part(name: string, script: string) {
  return { name, command: ['node', '-e', script] as const };
}

test('a part passes if its program exits with 0, and its output is kept', async () => {
  expect(await runPart(part('one', `console.log('out'); console.error('err')`), process.cwd())).toMatchObject({
    name: 'one',
    passed: true,
    output: expect.stringContaining('out'),
  });
});

test('a part fails if its program fails, is killed, cannot be run, or makes Node print a warning', async () => {
  const failing = [
    part('code', 'process.exit(3)'),
    part('signal', `process.kill(process.pid, 'SIGKILL')`),
    { name: 'missing', command: ['no-such-program'] as const },
    part('warning', `process.emitWarning('old', 'DeprecationWarning')`),
  ];
  const results = await Promise.all(failing.map((one) => runPart(one, process.cwd())));
  expect(results.map(({ name, passed }) => [name, passed])).toEqual(failing.map(({ name }) => [name, false]));
  expect(results.map(({ output }) => output.trim())).toEqual([
    '',
    expect.stringContaining('SIGKILL'),
    expect.stringContaining('"no-such-program" cannot be run'),
    expect.stringContaining('DeprecationWarning: old'),
  ]);
});

test('parts run in parallel, each once, and their results are in order', async () => {
  const ended: string[] = [];
  const parts = [part('slow', 'setTimeout(() => {}, 200)'), part('bad', 'process.exit(1)'), part('last', '')];
  const results = await runParts(parts, process.cwd(), 2, ({ name }) => ended.push(name));
  expect(results.map(({ name, passed }) => [name, passed])).toEqual([
    ['slow', true],
    ['bad', false],
    ['last', true],
  ]);
  expect(ended.toSorted()).toEqual(['bad', 'last', 'slow']);
});
