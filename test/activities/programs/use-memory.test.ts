import { expect, test } from 'vitest';
import { defineProgram, recall, remember, unit } from '../../../src/define/program/index.ts';
import type { Principal } from '../../../src/core/domain/run.ts';
import { inMemory } from '../../../src/memory/file-memory.ts';
import { memoryNamespace, type MemoryStore } from '../../../src/memory/memory-store.ts';
import { scriptedModel, testProgram } from '../../../src/testing/index.ts';

const model = scriptedModel([]);

const keeper = defineProgram({
  name: 'keeper',
  units: [unit('keep', {}, [remember('Keep', 'colour', '{{input.colour}}')])],
});

const reader = defineProgram({
  name: 'reader',
  units: [unit('read', {}, [recall('Read', 'colour', { scope: 'keeper' })])],
});

async function keep(memory: MemoryStore, colour: string, principal?: Principal): Promise<void> {
  const { result } = await testProgram(keeper, { input: { colour }, memory, model, ...(principal === undefined ? {} : { principal }) });
  expect(result.error).toBeNull();
}

async function read(memory: MemoryStore, principal?: Principal): Promise<unknown> {
  const { result } = await testProgram(reader, { memory, model, ...(principal === undefined ? {} : { principal }) });
  return (result.output as { value: unknown }[]).map(({ value }) => value);
}

test('a run finds entries of runs of the same principal, and no others', async () => {
  const memory = inMemory();
  const owners: (Principal | undefined)[] = [
    undefined,
    { user: 'ada' },
    { tenant: 'acme', user: 'ada' },
    { tenant: 'acme' },
    { user: 'bob' },
  ];
  for (const owner of owners) await keep(memory, `of ${JSON.stringify(owner)}`, owner);
  for (const owner of owners) expect(await read(memory, owner)).toEqual([`of ${JSON.stringify(owner)}`]);
  expect(await read(memory, { tenant: 'ada' })).toEqual([]);
});

test('the claims of a principal may change between runs', async () => {
  const memory = inMemory();
  await keep(memory, 'blue', { user: 'ada', claims: { role: 'guest' } });
  expect(await read(memory, { user: 'ada', claims: { role: 'admin' } })).toEqual(['blue']);
});

test('programs share a scope, and a program without one has its own scope', async () => {
  const memory = inMemory();
  await keep(memory, 'blue');
  const own = defineProgram({ name: 'own', units: [unit('read', {}, [recall('Read', 'colour')])] });
  expect((await testProgram(own, { memory, model })).result.output).toEqual([]);
  expect(await read(memory)).toEqual(['blue']);
  const namespace = memoryNamespace({ scope: 'keeper' });
  expect(await memory.recall({ namespace, text: 'colour' })).toMatchObject([{ metadata: { scope: 'keeper' } }]);
});

test('an entry names the run that has stored it', async () => {
  const memory = inMemory();
  const { result } = await testProgram(keeper, { input: { colour: 'blue' }, memory, model });
  expect((await memory.list({ namespace: memoryNamespace({ scope: 'keeper' }) })).entries).toMatchObject([
    { source: { runId: result.runId } },
  ]);
});

test('a value that the memory refuses fails the step at once', async () => {
  const { result } = await testProgram(keeper, { input: { colour: 'x'.repeat(64_000) }, memory: inMemory(), model });
  expect(result.error).toContain('64002 bytes of JSON, over 64000');
});

test('a query finds the entries that contain it, and with a lower score those that share words with it', async () => {
  const memory = inMemory();
  await keep(memory, 'dark blue');
  const found = async (minScore?: number): Promise<unknown> => {
    const options = { scope: 'keeper', ...(minScore === undefined ? {} : { minScore }) };
    const own = defineProgram({ name: 'own', units: [unit('read', {}, [recall('Read', 'the blue colour', options)])] });
    return (await testProgram(own, { memory, model })).result.output;
  };
  expect(await found()).toEqual([]);
  expect(await found(0.4)).toEqual([]);
  expect(await found(0)).toMatchObject([{ key: 'colour', value: 'dark blue' }]);
});
