import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/core/domain/errors/error.ts';
import { fileMemory } from '../../src/memory/file-memory.ts';
import { inMemory } from '../../src/memory/in-memory.ts';
import type { MemoryBackend } from '../../src/memory/memory-backend.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-memory-'));
});
afterEach(() => rm(folder, { recursive: true }));

const BACKENDS: [string, () => MemoryBackend][] = [
  ['inMemory', inMemory],
  ['fileMemory', () => fileMemory({ file: join(folder, 'deep', 'memory.json') })],
];

async function found(memory: MemoryBackend, query: string, options?: { topK?: number; scope?: string }): Promise<[string, number][]> {
  return (await memory.retrieve(query, options)).map(({ key, score }) => [key, score]);
}

describe.each(BACKENDS)('a memory: %s', (_, create) => {
  it('returns what it was given', async () => {
    const memory = create();
    const entry = await memory.store('contract', { kind: 'NDA', pages: [1, null] }, { source: 'Read', scope: 'a' });
    expect(entry).toEqual({
      key: 'contract',
      value: { kind: 'NDA', pages: [1, null] },
      metadata: { source: 'Read', scope: 'a' },
      timestamp: expect.any(Number),
    });
    expect(await memory.retrieve('contract')).toEqual([{ ...entry, score: 1 }]);
  });

  it('scores the key before the value, whatever their case', async () => {
    const memory = create();
    await memory.store('note', 'about ALPHA');
    await memory.store('Alpha', 'x');
    await memory.store('the_alpha_two', 'y');
    await memory.store('list', { items: ['Alphabet'] });
    await memory.store('other', 1);
    expect(await found(memory, 'alphA')).toEqual([
      ['Alpha', 1],
      ['the_alpha_two', 0.7],
      ['list', 0.4],
      ['note', 0.4],
    ]);
    expect(await found(memory, 'beta')).toEqual([]);
  });

  it('returns the newer of equal entries first, as many as asked for', async () => {
    const memory = create();
    for (let index = 0; index < 7; index += 1) await memory.store(`item_${index}`, 'x');
    await memory.store('item_2', 'again');
    expect((await found(memory, 'item')).map(([key]) => key)).toEqual(['item_2', 'item_6', 'item_5', 'item_4', 'item_3']);
    expect(await found(memory, '', { topK: 2 })).toEqual([
      ['item_2', 0.7],
      ['item_6', 0.7],
    ]);
    expect(await found(memory, 'item', { topK: 0 })).toEqual([]);
    expect(await found(memory, 'item', { topK: 100 })).toHaveLength(7);
  });

  it('replaces a value, also when a call is repeated', async () => {
    const memory = create();
    await memory.store('k', 'old', { scope: 'a' });
    await memory.store('k', 'new', { scope: 'a' });
    await memory.store('k', 'new', { scope: 'a' });
    expect((await memory.retrieve('k')).map(({ value }) => value)).toEqual(['new']);
  });

  it('keeps the values of scopes apart', async () => {
    const memory = create();
    await memory.store('k', 'of a', { scope: 'a' });
    await memory.store('k', 'of b', { scope: 'b' });
    await memory.store('k', 'of none');
    const values = async (scope?: string): Promise<unknown[]> =>
      (await memory.retrieve('k', scope === undefined ? {} : { scope })).map(({ value }) => value);
    expect(await values('a')).toEqual(['of a']);
    expect(await values('b')).toEqual(['of b']);
    expect(await values('')).toEqual([]);
    expect(await values()).toEqual(['of none', 'of b', 'of a']);
    expect(await memory.clear('a')).toBe(1);
    expect(await values()).toEqual(['of none', 'of b']);
    expect(await memory.clear('a')).toBe(0);
    expect(await memory.clear()).toBe(2);
    expect(await values()).toEqual([]);
  });

  it('refuses an empty key', async () => {
    await expect(create().store('', 'x')).rejects.toThrow(UsageError);
    await expect(create().store('', 'x')).rejects.toThrow('Memory key must not be empty');
  });

  it('keeps what it was given apart from what the caller changes', async () => {
    const memory = create();
    const value = { list: [1] };
    const stored = await memory.store('k', value);
    value.list.push(2);
    (stored.value as { list: number[] }).list.push(3);
    for (const { value: read } of await memory.retrieve('k')) (read as { list: number[] }).list.push(4);
    expect((await memory.retrieve('k'))[0]?.value).toEqual({ list: [1] });
  });

  it('takes keys and fields with names of objects', async () => {
    const memory = create();
    await memory.store('__proto__', JSON.parse('{"__proto__": 1}') as never);
    await memory.store('constructor', 'c');
    expect(await found(memory, '__proto__', { topK: 1 })).toEqual([['__proto__', 1]]);
    expect(JSON.stringify((await memory.retrieve('__proto__'))[0]?.value)).toBe('{"__proto__":1}');
  });

  it('loses nothing that is stored at once', async () => {
    const memory = create();
    await Promise.all(Array.from({ length: 20 }, (_value, index) => memory.store(`k${index}`, index)));
    expect(await found(memory, 'k', { topK: 100 })).toHaveLength(20);
  });
});
