import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorCode, UsageError } from '../../src/core/domain/errors.ts';
import type { MemoryStore } from '../../src/memory/memory-store.ts';
import { sqliteMemory } from '../../src/memory/sqlite-memory.ts';

const STORE_MANY = fileURLToPath(new URL('store-many.ts', import.meta.url));

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-sqlite-'));
  file = join(folder, 'memory.db');
});
afterEach(() => rm(folder, { recursive: true }));

/** Returns the files that contain a text, in any case. */
async function filesWith(text: string): Promise<string[]> {
  const names = await readdir(folder);
  const contents = await Promise.all(names.map(async (name) => (await readFile(join(folder, name), 'latin1')).toLowerCase()));
  return names.filter((_, index) => contents[index]?.includes(text.toLowerCase()));
}

async function countOf(memory: MemoryStore, namespace: string): Promise<number> {
  return (await memory.recall({ namespace, text: '', topK: Infinity })).length;
}

/** Returns the error of a use of the file. */
function refusal(): Promise<unknown> {
  return sqliteMemory({ file })
    .remember({ namespace: 'n', key: 'k', value: 1 })
    .catch((error: unknown) => error);
}

/** Returns the files of the folder that this process has open, where the system can tell. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd').catch(() => []);
  const paths = await Promise.all(descriptors.map((one) => readlink(`/proc/self/fd/${one}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

describe('a memory in a SQLite file', () => {
  it('outlasts the object that wrote it', async () => {
    await sqliteMemory({ file }).remember({ namespace: 'n', key: 'k', value: 'v' });
    expect(await sqliteMemory({ file }).recall({ namespace: 'n', text: 'k' })).toMatchObject([{ value: 'v' }]);
  });

  it('loses nothing that several processes store at once', async () => {
    const namespaces = ['a', 'b', 'c', 'd'];
    await Promise.all(namespaces.map((namespace) => promisify(execFile)(process.execPath, [STORE_MANY, 'sqlite', file, namespace, '40'])));
    const memory = sqliteMemory({ file });
    for (const namespace of namespaces) expect(await countOf(memory, namespace)).toBe(40);
  });

  it('has each value as a whole or not at all after a process is killed', async () => {
    const child = spawn(process.execPath, [STORE_MANY, 'sqlite', file, 'n', '100000'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let reported = '';
    child.stdout.on('data', (chunk: Buffer) => {
      reported += chunk.toString();
      if (reported.split('\n').length > 30) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const stored = reported.split('\n').filter((line) => line !== '').length;
    const memory = sqliteMemory({ file });
    const count = await countOf(memory, 'n');
    expect([stored, stored + 1]).toContain(count);
    const database = new DatabaseSync(file);
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    database.exec("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)");
    expect(database.prepare('SELECT count(*) AS vectors FROM vectors').get()).toEqual({ vectors: count });
    database.close();
  });

  it('overwrites text that is forgotten or replaced, in every file', async () => {
    const memory = sqliteMemory({ file });
    const secrets = ['zanzibar', 'quetzalcoatl', 'xylophonist', 'tenantname', 'oldervalue'];
    for (let index = 0; index < 40; index += 1)
      await memory.remember({ namespace: 'other', key: `k${index}`, value: `filler ${index} `.repeat(20) });
    await memory.remember({ namespace: '["tenantname"]', key: 'k', value: 'oldervalue' });
    await memory.remember({
      namespace: '["tenantname"]',
      key: 'k',
      value: `Zanzibar ${'quetzalcoatl '.repeat(900)}`,
      metadata: { of: 'xylophonist' },
    });
    expect((await filesWith('zanzibar')).length).toBeGreaterThan(0);
    expect(await memory.forget({ namespace: '["tenantname"]', key: 'k' })).toBe(1);
    for (const secret of secrets) expect(await filesWith(secret)).toEqual([]);
    expect(await countOf(memory, 'other')).toBe(40);
    await memory.forgetNamespaces({ prefix: 'oth' });
    expect(await filesWith('filler')).toEqual([]);
  });

  it('waits for a reader before it has forgotten', async () => {
    const memory = sqliteMemory({ file });
    await memory.remember({ namespace: 'n', key: 'k', value: 'zanzibar' });
    const reader = new DatabaseSync(file);
    reader.exec('BEGIN');
    reader.prepare('SELECT * FROM entries').all();
    let isDone = false;
    const forgetting = memory.forget({ namespace: 'n' }).then((count) => {
      isDone = true;
      return count;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isDone).toBe(false);
    reader.exec('COMMIT');
    expect(await forgetting).toBe(1);
    reader.close();
    expect(await filesWith('zanzibar')).toEqual([]);
  });

  it.each(['delete', 'wal'])('never changes a file of another content, with the journal "%s"', async (journal) => {
    const other = new DatabaseSync(file);
    other.exec(`PRAGMA journal_mode = ${journal}`);
    other.exec('CREATE TABLE cats (name TEXT)');
    other.close();
    const before = await readFile(file);
    const error: unknown = await refusal();
    expect(errorCode(error)).toBe('memory_unavailable');
    expect(String(error)).toContain(`the file "${file}" is not a memory of this release`);
    expect((await readFile(file)).equals(before)).toBe(true);
    // The refused connection is closed: a file that is in use has a log.
    expect(await readdir(folder)).toEqual(['memory.db']);
  });

  it('never changes a file that is not a database, and leaves no connection open', async () => {
    const content = 'no database, but a text that is long enough to be one'.repeat(100);
    await writeFile(file, content);
    for (let use = 0; use < 3; use += 1) expect(errorCode(await refusal())).toBe('memory_unavailable');
    expect(await readFile(file, 'utf8')).toBe(content);
    expect(await openFiles()).toEqual([]);
  });

  it('ranks without the entries of other namespaces', async () => {
    const memory = sqliteMemory({ file });
    const scores = async (): Promise<unknown> =>
      (await memory.recall({ namespace: 'n', text: 'which alpha or beta' })).map(({ score }) => score);
    for (const word of ['alpha', 'beta', 'gamma']) await memory.remember({ namespace: 'n', key: word[0] ?? '', value: word });
    const before = await scores();
    for (let index = 0; index < 30; index += 1) await memory.remember({ namespace: `o${index % 3}`, key: `k${index}`, value: 'alpha' });
    expect(await scores()).toEqual(before);
  });

  it('needs a file', () => {
    expect(() => sqliteMemory({ file: '' })).toThrow(UsageError);
    expect(() => sqliteMemory({} as { file: string })).toThrow('sqliteMemory: "file" is missing');
  });
});
