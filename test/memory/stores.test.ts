import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryStoreConformance } from '../../src/memory/memory-store-conformance.ts';
import { fileMemory, inMemory } from '../../src/memory/file-memory.ts';
import { sqliteMemoryOf } from '../../src/memory/sqlite-memory.ts';
import type { MemoryStore } from '../../src/memory/memory-store.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-memory-'));
});
afterEach(() => rm(folder, { recursive: true }));

const STORES: [string, () => MemoryStore][] = [
  ['inMemory', inMemory],
  ['fileMemory', () => fileMemory({ file: join(folder, 'deep', 'memory.json') })],
  ['sqliteMemory', () => sqliteMemoryOf({ file: join(folder, 'deep', 'memory.db') }, { isPlain: false })],
  ['sqliteMemory without an index', () => sqliteMemoryOf({ file: join(folder, 'memory.db') }, { isPlain: true })],
];

describe.each(STORES)('%s', (_, create) => {
  it.each(memoryStoreConformance)('$name', async ({ run }) => {
    await expect(run(create())).resolves.toBeUndefined();
  });
});
