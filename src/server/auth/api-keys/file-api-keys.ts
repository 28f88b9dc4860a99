import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import { withFileLock } from '../../../memory/file-lock.ts';
import { removeDrafts, writeWhole } from '../../../stores/payload-store.ts';
import { SCOPES } from '../caller.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import type { ApiKey } from './api-key.ts';

/** The options of a store of API keys in a file. */
interface FileApiKeysOptions {
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

const VERSION = 1;

const NAME = z.string().min(1).max(200);
const TIME = z.number().int().nonnegative();

const KEY = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z]+$/),
  secretHash: z.string().regex(/^[0-9a-f]{64}$/),
  name: NAME,
  scopes: z.array(z.enum(SCOPES)),
  agents: z.array(NAME).exactOptional(),
  principal: z.strictObject({ tenant: NAME.exactOptional(), user: NAME.exactOptional() }).exactOptional(),
  createdAt: TIME,
  expiresAt: TIME.exactOptional(),
  revokedAt: TIME.exactOptional(),
});

const FILE = z.strictObject({ version: z.literal(VERSION), keys: z.array(KEY) });

/** Returns the text of a file with these keys. Throws a UsageError for a key that could not be read again. */
function keysText(keys: readonly ApiKey[]): string {
  const [issue] = FILE.safeParse({ version: VERSION, keys }).error?.issues ?? [];
  if (issue !== undefined) throw new UsageError(`The key is not valid: "${issue.path.slice(2).join('.')}": ${issue.message}`);
  return `${JSON.stringify({ version: VERSION, keys }, undefined, 2)}\n`;
}

/** Reads the keys of a file. Throws `authorization_failed` for any other content: a key that is not understood could have other rights. */
function parseKeys(text: string, file: string): ApiKey[] {
  const parsed = FILE.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data.keys;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
  throw new LonghaulError(
    'authorization_failed',
    `The file "${file}" holds no API keys of this release${where}: use another file, or correct it`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
