import { expect, test } from 'vitest';
import { Namespace, NamespaceCache } from '../../../activities/code/namespace.ts';
import { fakeExecutors } from './fake-executor.ts';

const executors = fakeExecutors();
const MOMENT = { now: 1, seed: 1 };

async function namespace(code = 'let a 1'): Promise<Namespace> {
  const one = new Namespace(await executors.create({} as never, { tools: [], scratchpad: false }));
  await one.begin({ id: 'e1/0', code, moment: MOMENT });
  return one;
}

function keyOf(run: string): { chain: string; execution: string } {
  return { chain: run, execution: `${run}@1` };
}

test('a namespace that was ended before its first cell runs none', async () => {
  const one = new Namespace(await executors.create({} as never, { tools: [], scratchpad: false }));
  await one.kill();
  await expect(one.begin({ id: 'e1/0', code: 'let a 1', moment: MOMENT })).rejects.toThrow('the namespace has ended');
});

test('a namespace is handed over once, and only at its position', async () => {
  const cache = new NamespaceCache();
  const one = await namespace();
  cache.put(keyOf('r'), one);
  expect(cache.take(keyOf('r'), one.position)).toBe(one);
  expect(cache.take(keyOf('r'), one.position)).toBeUndefined();
  expect(one.isReliable).toBe(true);
  cache.put(keyOf('r'), one);
  expect(cache.take(keyOf('r'), 'elsewhere')).toBeUndefined();
  expect(one.isReliable).toBe(false);
});

test('the least recently used namespace is ended if they are too many, or take too much memory', async () => {
  const few = new NamespaceCache({ namespaces: 2 });
  const small = new NamespaceCache({ megabytes: 20 });
  for (const cache of [few, small]) {
    const all = [await namespace(), await namespace(), await namespace()];
    for (const [index, one] of all.entries()) cache.put(keyOf(`r${index}`), one);
    expect(all.map(({ isReliable }) => isReliable)).toEqual([false, true, true]);
  }
});

test('a namespace that is larger than the cache is ended', async () => {
  const cache = new NamespaceCache({ megabytes: 1 });
  const one = await namespace();
  cache.put(keyOf('r'), one);
  expect(cache.size).toBe(0);
  expect(one.isReliable).toBe(false);
});

test('a namespace that waits for calls is evicted sooner than a namespace that waits for a cell', async () => {
  const cache = new NamespaceCache({ waitingMs: 20, idleMs: 60_000 });
  const waiting = await namespace('call orders {"id":1}');
  const idle = await namespace();
  cache.put(keyOf('waiting'), waiting);
  cache.put(keyOf('idle'), idle);
  await expect.poll(() => waiting.isReliable).toBe(false);
  expect(idle.isReliable).toBe(true);
  expect(cache.size).toBe(1);
  await cache.close();
});

test('the namespace of an idle run is evicted', async () => {
  const cache = new NamespaceCache({ idleMs: 20 });
  const idle = await namespace();
  cache.put(keyOf('r'), idle);
  await expect.poll(() => idle.isReliable).toBe(false);
});

test('a cache that is closed has ended all its namespaces', async () => {
  const cache = new NamespaceCache();
  const all = [await namespace(), await namespace()];
  for (const [index, one] of all.entries()) cache.put(keyOf(`r${index}`), one);
  await cache.close();
  expect(all.map(({ isReliable }) => isReliable)).toEqual([false, false]);
  expect(cache.size).toBe(0);
});
