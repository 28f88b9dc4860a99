import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { LonghaulError, UsageError } from '../../../core/domain/errors/error.ts';
import { withFileLock } from '../../../memory/file-lock.ts';
import { removeDrafts, writeWhole } from '../../../stores/payload-store/run-folder.ts';
import type { ApiKey } from './api-key.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import { keysText, parseKeys } from './stored-keys.ts';

/** The options of a store of API keys in a file. */
export interface FileApiKeysOptions {
  /** The path of the file, created with the first key. */
  file: string;
}

/** The rights of the file: its owner alone reads and writes it. */
const OWNER_ONLY = 0o600;

/**
 * Creates a store of API keys in one file, for the servers of one machine. Servers read the file again as soon as it has changed. Each
 * change replaces the file as a whole, and processes take turns by a lock file beside it, as for a memory in a file. Without the file
 * there are no keys. Throws a UsageError without a path.
 */
export function fileApiKeys(options: FileApiKeysOptions): ApiKeyStore {
  if (typeof options.file !== 'string' || options.file === '') {
    throw new UsageError('fileApiKeys: "file" is missing: write the path of the file with the keys');
  }
  const file = path.resolve(options.file);
  const read = keptReading(file);
  const change = async (changed: (keys: ReadonlyMap<string, ApiKey>) => ApiKey[] | undefined): Promise<boolean> => {
    await mkdir(path.dirname(file), { recursive: true });
    return withFileLock(
      `${file}.lock`,
      async () => {
        await removeDrafts(file);
        const after = changed(await keysIn(file));
        if (after === undefined) return false;
        await writeWhole(file, [keysText(after)], { mode: OWNER_ONLY });
        return true;
      },
      { notFree: (message) => new LonghaulError('authorization_failed', message) },
    );
  };
  return {
    get: async (id) => (await read()).get(id),
    list: async () => [...(await read()).values()],
    put: async (key) => void (await change((keys) => [...new Map(keys).set(key.id, key).values()])),
    revoke: (id, at) =>
      change((keys) => {
        const key = keys.get(id);
        return key && [...new Map(keys).set(id, { ...key, revokedAt: key.revokedAt ?? at }).values()];
      }),
  };
}

/** Returns a function that reads the keys, and keeps them until the file is another one. */
function keptReading(file: string): () => Promise<ReadonlyMap<string, ApiKey>> {
  let kept: { version: string; keys: ReadonlyMap<string, ApiKey> } | undefined;
  return async () => {
    // The version is asked for first: if the file changes in between, the next call sees another version and reads again.
    const version = await versionOf(file);
    if (kept?.version !== version) kept = { version, keys: await keysIn(file) };
    return kept.keys;
  };
}

/** Returns a text that differs after each change of the file; an empty text if there is no file. */
async function versionOf(file: string): Promise<string> {
  const stats = await ifThere(stat(file, { bigint: true }));
  return stats === undefined ? '' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

async function keysIn(file: string): Promise<ReadonlyMap<string, ApiKey>> {
  const text = await ifThere(readFile(file, 'utf8'));
  const keys = text === undefined ? [] : parseKeys(text, file);
  return new Map(keys.map((key) => [key.id, key]));
}

async function ifThere<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
