import { expect, test } from 'vitest';
import { course, executor, MOMENT } from './opened-executors.ts';

test.each([
  ['an endless loop', 'for (;;);'],
  ['an endless loop of promises', 'for (;;) await null'],
  ['a regular expression', "/(x+x+)+y/.test('x'.repeat(60))"],
  ['work that never asks if it should stop', "new Array(1e9) + ''"],
  ['a sort', 'const a = Array.from({ length: 1e6 }, Math.random); for (;;) a.sort(() => Math.random() - 0.5)'],
  ['a flood of output', "for (;;) print('flood')"],
])('kill ends %s, and settles its promise', async (_, code) => {
  const one = executor({ limits: { timeoutSeconds: 0, maxMemoryMb: 64 } });
  await one.run('let before = 1', MOMENT);
  const running = one.begin(`print('so far'); ${code}`, MOMENT);
  await new Promise((later) => void setTimeout(later, 100));
  await one.kill();
  expect(await running).toMatchObject({ type: 'ended', result: { success: false, timeout: false, error: { kind: 'killed' } } });
  expect((await course(one, 'print(typeof before)')).result).toMatchObject({ output: 'undefined', emptiedBy: 'killed' });
});

test.each([
  ['blocks in a call', 'orders(1); print("on")'],
  ['awaits a call', 'await tools.orders(1); print("on")'],
  ['blocks in a callback', '[1, 2].forEach((id) => orders(id))'],
])('kill ends a cell that %s', async (_, code) => {
  const one = executor({ limits: { timeoutSeconds: 0 } });
  expect((await one.begin(code, MOMENT)).type).toBe('calls');
  await one.kill();
  await expect(one.resume([{ value: 1 }])).rejects.toThrow('No code waits for calls');
  expect((await course(one, 'print(1)')).result).toMatchObject({ output: '1', emptiedBy: 'killed' });
});

test('kill settles a segment that goes on with its results', async () => {
  const one = executor({ limits: { timeoutSeconds: 0 } });
  await one.begin('orders(1); for (;;);', MOMENT);
  const going = one.resume([{ value: 1 }]);
  await one.kill();
  expect(await going).toMatchObject({ type: 'ended', result: { error: { kind: 'killed' } } });
});

test('kill ends a start, a checkpoint and a restore', async () => {
  const starting = executor();
  const begun = starting.begin('print(1)', MOMENT);
  await starting.kill();
  expect(await begun).toMatchObject({ result: { error: { kind: 'killed' } } });
  const saving = executor();
  const checkpoint = saving.checkpoint?.();
  await Promise.all([expect(checkpoint).rejects.toThrow('the executor ended before it made the checkpoint'), saving.kill()]);
  const restoring = executor();
  const restored = restoring.restore?.(new Uint8Array(10));
  await Promise.all([expect(restored).rejects.toThrow('The checkpoint cannot be restored'), restoring.kill()]);
});

test('what has been closed can be closed again, and runs no more', async () => {
  const one = executor();
  await one.close();
  await expect(one.run('print(1)', MOMENT)).rejects.toThrow('The executor is closed: make another one');
  await expect(one.reset()).rejects.toThrow('The executor is closed');
  await one.close();
});
