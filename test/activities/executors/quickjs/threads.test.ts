import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  frameText,
  MAX_FRAME_LENGTH,
  readThreadFrame,
  type RunFrame,
  type ThreadSettings,
} from '../../../../activities/executors/frames.ts';
import { course, MOMENT } from '../course.ts';
import { executor } from './opened-executors.ts';
import { CellThread, packImage } from '../../../../activities/executors/quickjs/quickjs-executor.ts';

test.each([
  { type: 'began' as const },
  { type: 'output' as const, text: 'a"b' },
  {
    type: 'done' as const,
    durationMs: 1,
    memoryUsedBytes: 2,
    answer: '[1]',
    namespace: { n: { type: 'number', json: '1' }, f: { type: 'function' } },
  },
  { type: 'calls' as const, calls: [{ tool: 'orders', arguments: { id: [1, { a: null }] } }], durationMs: 3 },
  { type: 'restored' as const, scratchpad: '{}' },
  { type: 'restored' as const, problem: 'it is damaged' },
  { type: 'failed' as const, durationMs: 1, memoryUsedBytes: 2, kind: 'runtime' as const, message: 'no' },
])('the frame $type is read back unchanged', (frame) => {
  expect(readThreadFrame(frameText(frame))).toEqual(frame);
});

test.each([
  ['an object', { type: 'began' }],
  ['no JSON', '{"type":'],
  ['another type', '{"type":"exit"}'],
  ['a kind that does not exist', '{"type":"failed","durationMs":1,"memoryUsedBytes":2,"kind":"success","message":""}'],
  ['an answer that is not text', '{"type":"done","durationMs":1,"memoryUsedBytes":2,"answer":{},"namespace":{}}'],
  ['a namespace that is a list', '{"type":"done","durationMs":1,"memoryUsedBytes":2,"namespace":[]}'],
  ['a list of no calls', '{"type":"calls","calls":[],"durationMs":1}'],
  ['a call without arguments', '{"type":"calls","calls":[{"tool":"a"}],"durationMs":1}'],
  ['a call whose arguments are a list', '{"type":"calls","calls":[{"tool":"a","arguments":[]}],"durationMs":1}'],
  [
    'a call whose arguments are too deep',
    `{"type":"calls","calls":[{"tool":"a","arguments":{"a":${'['.repeat(70)}${']'.repeat(70)}}}],"durationMs":1}`,
  ],
  [
    'more calls than a cell may make',
    `{"type":"calls","calls":[${'{"tool":"a","arguments":{}},'.repeat(10_000)}{"tool":"a","arguments":{}}],"durationMs":1}`,
  ],
  ['a scratchpad that is not text', '{"type":"failed","durationMs":1,"memoryUsedBytes":2,"kind":"runtime","message":"","scratchpad":{}}'],
  ['a frame that is too long', `{"type":"output","text":"${'x'.repeat(MAX_FRAME_LENGTH)}"}`],
])('%s is not a frame', (_, received) => {
  expect(readThreadFrame(received)).toBeUndefined();
});

test('reading never throws, and changes no prototype', () => {
  fc.assert(fc.property(fc.oneof(fc.anything(), fc.json(), fc.string()), (received) => void readThreadFrame(received)));
  readThreadFrame('{"type":"done","durationMs":1,"memoryUsedBytes":2,"namespace":{"__proto__":{"type":"number","json":"1"}}}');
  expect(({} as { json?: string }).json).toBeUndefined();
});

test('a frame that is too long is not sent', () => {
  expect(() => frameText({ type: 'output', text: 'x'.repeat(MAX_FRAME_LENGTH) })).toThrow(/^a frame has \d+ characters/);
});

test('an executor at rest can be reset, checkpointed and restored', async () => {
  const first = executor();
  await course(first, 'let a = 1');
  const others = Array.from({ length: 10 }, () => executor());
  await Promise.all(others.map((one) => course(one, 'let b = 2')));
  const checkpoint = (await first.checkpoint?.()) ?? new Uint8Array();
  await first.reset();
  expect((await course(first, 'print(typeof a)')).result.output).toBe('undefined');
  await first.restore?.(checkpoint);
  expect((await course(first, 'print(a)')).result.output).toBe('1');
  const running = others.map((one) => one.begin('for (;;);', MOMENT));
  await Promise.all(others.map((one) => one.close()));
  for (const segment of await Promise.all(running)) expect(segment).toMatchObject({ result: { error: { kind: 'killed' } } });
});

const SETTINGS: ThreadSettings = {
  timeoutMs: 10_000,
  memoryBytes: 32 * 1_048_576,
  outputLength: 1_000,
  tools: [],
  scratchpad: false,
  allowedImports: [],
};

const RUN: RunFrame = { type: 'run', code: 'print(1)', now: 0, seed: 1, injected: [], mayCall: false };

test('a thread that has ended answers every request at once', async () => {
  const thread = new CellThread(SETTINGS);
  expect(await thread.run(RUN)).toMatchObject({ type: 'done' });
  await thread.terminate({ kind: 'killed', message: 'over' });
  expect(await thread.run(RUN)).toMatchObject({ type: 'failed', kind: 'protocol', message: 'The thread has ended by itself' });
  await expect(thread.checkpoint({ type: 'checkpoint', injected: [] })).rejects.toThrow('the thread made no checkpoint');
  expect(await thread.restore(await packImage(new Uint8Array(1)))).toMatchObject({ problem: 'The thread has ended by itself' });
});

test('the end of a thread settles its pending requests', async () => {
  const thread = new CellThread(SETTINGS);
  const running = thread.run({ ...RUN, code: 'for (;;);' });
  await thread.terminate({ kind: 'killed', message: 'over' });
  expect(await running).toMatchObject({ type: 'failed', kind: 'killed', message: 'over' });
});

const MAIN = fileURLToPath(new URL('../../../../activities/executors/quickjs/thread/main.ts', import.meta.url));
const IMPORT = /(?:^import (?!type)[^;]*?from |^export [^;]*?from |\bimport\()'([^']+)'/gm;

/** Returns the modules that a module loads, directly or not: files, and names of packages. */
function modulesOf(file: string, found = new Set<string>()): Set<string> {
  found.add(file);
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    if (!name.startsWith('.')) found.add(name);
    else if (!found.has(resolve(dirname(file), name))) modulesOf(resolve(dirname(file), name), found);
  }
  return found;
}

test('the thread of code loads no zlib: Node aborts the process if a thread ends while it creates a stream', () => {
  const modules = [...modulesOf(MAIN)];
  expect(modules.some((name) => name.endsWith('/thread/cells.ts'))).toBe(true);
  expect(modules).toContain('quickjs-wasi');
  expect(modules).not.toContain('node:zlib');
});

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

test('kill settles a segment that continues with its results', async () => {
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

test('a closed thread can be closed again, and no longer runs anything', async () => {
  const one = executor();
  await one.close();
  await expect(one.run('print(1)', MOMENT)).rejects.toThrow('The executor is closed: make another one');
  await expect(one.reset()).rejects.toThrow('The executor is closed');
  await one.close();
});
