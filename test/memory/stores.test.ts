import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { memoryStoreConformance } from '../../src/memory/memory-store-conformance.ts';
import { fileMemory, inMemory, lockedFileMemory } from '../../src/memory/file-memory.ts';
import { sqliteMemoryOf } from '../../src/memory/sqlite-memory.ts';
import { memoryNamespace, memoryOwner, type MemoryOwner, type MemoryStore } from '../../src/memory/memory-store.ts';
import { errorCode, UsageError } from '../../src/core/domain/errors.ts';
import { writeWhole } from '../../src/stores/payload-store.ts';
import { fakeMemory } from '../fakes/fake-memory.ts';
import { type Embed, withEmbedding } from '../../src/memory/search.ts';

describe('every store', () => {
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
});

describe('the memory in files', () => {
  const STORE_MANY = fileURLToPath(new URL('store-many.ts', import.meta.url));
  /** Above the largest process id of Linux and macOS. */
  const NO_PROCESS = 2 ** 30;

  let folder = '';
  let file = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-memory-'));
    file = join(folder, 'memory.json');
  });
  afterEach(() => rm(folder, { recursive: true }));

  function lockOf(owner: object): Promise<void> {
    return writeFile(`${file}.lock`, JSON.stringify({ pid: process.pid, host: hostname(), id: 'x', ...owner }));
  }

  describe('a memory in a file', () => {
    it('outlasts the object that wrote it', async () => {
      await fileMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
      expect(await fileMemory({ file }).recall({ namespace: 'n', text: 'k' })).toMatchObject([{ value: 'v' }]);
    });

    it('loses nothing that several processes store at once', async () => {
      const store = (prefix: string): Promise<unknown> => promisify(execFile)(process.execPath, [STORE_MANY, 'file', file, prefix, '25']);
      await Promise.all(['a', 'b', 'c'].map(store));
      const memory = fileMemory({ file });
      for (const namespace of ['a', 'b', 'c']) expect(await memory.recall({ text: '', namespace, topK: 100 })).toHaveLength(25);
      expect(await readdir(folder)).toEqual(['memory.json']);
    });

    it('takes over the lock of a process that has ended', async () => {
      await lockOf({ pid: NO_PROCESS });
      await fileMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
      expect(await readdir(folder)).toEqual(['memory.json']);
    });

    it('takes over an old lock', async () => {
      for (const owner of [{}, { host: 'another', pid: NO_PROCESS }]) {
        await lockOf(owner);
        await utimes(`${file}.lock`, new Date(0), new Date(0));
        await fileMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
      }
      await writeFile(`${file}.lock`, '');
      await utimes(`${file}.lock`, new Date(0), new Date(0));
      expect(await fileMemory({ file }).forget({ namespace: 'n' })).toBe(1);
    });

    it('waits for the lock of another process, and says which file it is', async () => {
      for (const owner of [{}, { host: 'another', pid: NO_PROCESS }]) {
        await lockOf(owner);
        const memory = lockedFileMemory({ file }, { waitMs: 50 });
        const error: unknown = await memory.remember({ namespace: 'n', key: 'k', value: 'v' }).catch((caught: unknown) => caught);
        expect(errorCode(error)).toBe('memory_unavailable');
        expect(String(error)).toContain(`the lock "${file}.lock" has not become free`);
      }
      expect(await readdir(folder)).toEqual(['memory.json.lock']);
      await rm(`${file}.lock`);
      await fileMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
    });

    it('never replaces a file with another content', async () => {
      for (const content of ['', '{broken', '[]', 'null', '{"version":1,"entries":[]}']) {
        await writeFile(file, content);
        const memory = fileMemory({ file });
        for (const use of [
          () => memory.remember({ namespace: 'n', key: 'k', value: 'v' }),
          () => memory.recall({ namespace: 'n', text: 'k' }),
          () => memory.forget({ namespace: 'n' }),
        ]) {
          expect(errorCode(await use().catch((caught: unknown) => caught))).toBe('memory_unavailable');
        }
        expect(await readFile(file, 'utf8')).toBe(content);
      }
      expect(await readdir(folder)).toEqual(['memory.json']);
    });

    it('removes the copies that killed writers left, at the next change', async () => {
      const memory = fileMemory({ file });
      const left = async (): Promise<void> => {
        await writeFile(`${file}.0a1b2c3d.draft`, 'a copy with what is forgotten');
      };
      await left();
      await writeFile(join(folder, 'other.json.0a1b.draft'), 'of another memory');
      await memory.remember({ namespace: 'n', key: 'k', value: 'v' });
      expect(await readdir(folder)).toEqual(['memory.json', 'other.json.0a1b.draft']);
      for (const forget of [() => memory.forget({ namespace: 'n' }), () => memory.forgetNamespaces({ prefix: 'n' })]) {
        await left();
        await forget();
        expect(await readdir(folder)).toEqual(['memory.json', 'other.json.0a1b.draft']);
      }
    });

    it('leaves no copy if it cannot be replaced', async () => {
      await fileMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
      await rm(file);
      // A folder cannot be replaced by a file.
      await mkdir(join(file, 'sub'), { recursive: true });
      await expect(writeWhole(file, ['secret'])).rejects.toThrow(file);
      expect(await readdir(folder)).toEqual(['memory.json']);
    });

    it('needs a file', () => {
      expect(() => fileMemory({ file: '' })).toThrow(UsageError);
      expect(() => fileMemory({} as { file: string })).toThrow('fileMemory: "file" is missing');
    });
  });
});

/** Names with characters that could confuse namespaces. */
const name = fc.oneof(fc.constantFrom('', 'a', 'null', '"', '","', '[', ']', '\\', '\u0000', 'a","b'), fc.string({ unit: 'binary' }));
const owner = fc.record(
  {
    principal: fc.record({ tenant: name, user: name, claims: fc.constant({ admin: true }) }, { requiredKeys: [] }),
    agent: name,
    scope: name,
  },
  { requiredKeys: [] },
);

/** The parts of an owner that choose its memory. */
function partsOf({ principal = {}, agent, scope }: MemoryOwner): unknown[] {
  return [principal.tenant, principal.user, agent, scope];
}

test('two owners share a namespace only if all their parts are the same', () => {
  fc.assert(
    fc.property(owner, owner, (one, other) => {
      const isSame = partsOf(one).every((part, index) => Object.is(part, partsOf(other)[index]));
      expect(memoryNamespace(one) === memoryNamespace(other)).toBe(isSame);
    }),
    { numRuns: 500 },
  );
});

test("no owner reads, lists or removes another owner's entries", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(owner, { minLength: 2, maxLength: 6, selector: (one) => JSON.stringify(partsOf(one).map((part) => [part])) }),
      async (owners) => {
        const memory = fakeMemory();
        for (const [index, one] of owners.entries())
          await memory.remember({ namespace: memoryNamespace(one), key: 'key', value: `value ${index}` });
        for (const [index, one] of owners.entries()) {
          const namespace = memoryNamespace(one);
          const values = (await memory.recall({ namespace, text: 'value' })).map(({ value }) => value);
          expect(values).toEqual([`value ${index}`]);
          expect((await memory.list({ namespace })).entries).toHaveLength(1);
        }
        expect(await memory.forget({ namespace: memoryNamespace(owners[0] ?? {}) })).toBe(1);
        expect((await memory.list({ namespace: memoryNamespace(owners[1] ?? {}) })).entries).toHaveLength(1);
      },
    ),
  );
});

test('the namespaces of a tenant and user, and no others, begin with the text of that owner', () => {
  fc.assert(
    fc.property(owner, owner, (one, other) => {
      const [{ principal = {} }, { principal: others = {} }] = [one, other];
      const isSame = principal.tenant === others.tenant && principal.user === others.user;
      expect(memoryNamespace(other).startsWith(memoryOwner(principal))).toBe(isSame);
    }),
    { numRuns: 500 },
  );
});

test('claims are not part of a namespace', () => {
  const of = (claims: { roles: string[] }): string => memoryNamespace({ principal: { user: 'ada', claims }, agent: 'clerk' });
  expect(of({ roles: ['admin'] })).toBe(of({ roles: [] }));
});

/** Three meanings: food, travel, and anything else. */
const meaning: Embed = async (texts) =>
  texts.map((text) => [Number(/meal|soup|eat/i.test(text)), Number(/train|flight|travel/i.test(text)), 0.01]);

const N = 'n';

describe('a memory with embedding', () => {
  it('finds what means the same in other words', async () => {
    const memory = withEmbedding(inMemory(), meaning);
    await memory.remember({ namespace: N, key: 'food', value: 'soup' });
    await memory.remember({ namespace: N, key: 'trip', value: 'a train' });
    const [first] = await memory.recall({ namespace: N, text: 'how does she travel?' });
    expect(first).toMatchObject({ key: 'trip' });
    expect(first?.score).toBeLessThan(0.4);
  });

  it.each<[string, Embed, string]>([
    ['fails', () => Promise.reject(new Error('no quota')), 'no quota'],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['hangs', () => new Promise(() => {}), 'it has not answered in 20 ms'],
    ['returns nothing', async () => [], 'it returned no list of vectors'],
    ['returns no numbers', async () => [[NaN]], 'not a list of finite'],
  ])('works without vectors if the embedding %s, and says so', async (_, embed, says) => {
    const lines: string[] = [];
    const memory = withEmbedding(inMemory(), embed, { timeoutMs: 20, log: (line) => lines.push(line) });
    await memory.remember({ namespace: N, key: 'k', value: 'the secret soup' });
    expect(await memory.recall({ namespace: N, text: 'soup' })).toMatchObject([{ key: 'k', score: 0.4 }]);
    expect(lines).toEqual([
      expect.stringMatching(/^The memory: "embed" failed, so a value is stored without a vector: /),
      expect.stringMatching(/^The memory: "embed" failed, so a query only compares texts: /),
    ]);
    for (const line of lines) {
      expect(line).toContain(says);
      expect(line).not.toContain('secret');
    }
  });

  it('ignores the vectors of another model, and finds their texts', async () => {
    const store = inMemory();
    await withEmbedding(store, async () => [[1, 0]]).remember({ namespace: N, key: 'k', value: 'soup' });
    const memory = withEmbedding(store, meaning);
    expect(await memory.recall({ namespace: N, text: 'what to eat' })).toEqual([]);
    expect(await memory.recall({ namespace: N, text: 'soup' })).toHaveLength(1);
  });

  it('keeps the vectors that it is given', async () => {
    const memory = withEmbedding(inMemory(), () => Promise.reject(new Error('not asked')));
    await memory.remember({ namespace: N, key: 'k', value: 'soup', vector: [1, 0] });
    expect(await memory.recall({ namespace: N, text: 'meal', vector: [1, 0] })).toHaveLength(1);
  });

  it('forgets and lists as the store does', async () => {
    const memory = withEmbedding(inMemory(), meaning);
    await memory.remember({ namespace: N, key: 'k', value: 'soup' });
    expect((await memory.list({ namespace: N })).entries).toHaveLength(1);
    expect(await memory.forget({ namespace: N })).toBe(1);
  });
});
