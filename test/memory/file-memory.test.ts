import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorCode, UsageError } from '../../src/core/domain/errors.ts';
import { fileMemory, lockedFileMemory } from '../../src/memory/file-memory.ts';
import { writeWhole } from '../../src/stores/payload-store.ts';

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
