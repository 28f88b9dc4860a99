import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined, parsedJson } from '../../core/domain/json.ts';
import type { Identity } from '../../core/domain/run.ts';
import { unknownField } from '../../core/domain/text.ts';
import { changeFile } from '../../memory/file-lock.ts';
import { ifThere } from '../../stores/payload-store.ts';
import { expecting } from '../schemas/expecting.ts';
import { readValue } from '../schemas/read-value.ts';
import { type Authenticate, bearerCredentials, type Caller, type Scope, SCOPES } from './caller.ts';

const DIGEST_BYTES = 32;

/** The digest used for an unknown key. No secret matches it. */
const NO_SECRET = randomBytes(DIGEST_BYTES);

/** Verifies `Authorization: Bearer lh_<id>_<secret>` against a store of keys. An unknown id takes as long as a wrong secret. */
export function apiKeys(store: ApiKeyStore): Authenticate {
  return async (request): Promise<Caller | undefined> => {
    const parts = parseApiKey(bearerCredentials(request) ?? '');
    if (parts === undefined) return undefined;
    const key = await store.get(parts.id);
    const isSecret = timingSafeEqual(secretDigest(parts.secret), storedDigest(key?.secretHash));
    return key !== undefined && isSecret && isValid(key, Date.now()) ? callerOfKey(key) : undefined;
  };
}

/** Returns the digest of a stored key. A broken one has the wrong length, and is replaced by one that no secret matches. */
function storedDigest(hash: string | undefined): Buffer {
  const digest = Buffer.from(hash ?? '', 'hex');
  return digest.length === DIGEST_BYTES ? digest : NO_SECRET;
}

/** Creates an API key and stores it without its secret. The returned text is not stored, and cannot be shown again. */
export async function createApiKey(
  store: ApiKeyStore,
  rights: Omit<ApiKey, 'id' | 'secretHash' | 'createdAt' | 'revokedAt'>,
): Promise<{ key: ApiKey; text: string }> {
  const id = randomText(ID_LENGTH);
  const secret = randomText(SECRET_LENGTH);
  const key: ApiKey = { ...rights, id, secretHash: secretDigest(secret).toString('hex'), createdAt: Date.now() };
  requireStorable([key]);
  await store.put(key);
  return { key, text: `lh_${id}_${secret}` };
}

/** An API key as it is stored: without its secret. Times are milliseconds since the epoch. */
export interface ApiKey {
  /** The id of the key, which is not secret. */
  id: string;
  /** The SHA-256 of the secret, in hexadecimal. */
  secretHash: string;
  /** The purpose of the key, for people. */
  name: string;
  /** What callers with the key may do, such as `runs:read`. */
  scopes: readonly Scope[];
  /** The agents and programs that the key may start. Absent: all. */
  agents?: readonly string[];
  /** The identity on whose behalf the key acts. `'all'`: it can access all runs of the namespace. */
  principal: Identity | 'all';
  /** When it was created, in milliseconds since the epoch. */
  createdAt: number;
  /** When it expires, in milliseconds since the epoch. Absent: never. */
  expiresAt?: number;
  /** When it was revoked, in milliseconds since the epoch. Absent: it is not revoked. */
  revokedAt?: number;
}

/** True if the key is valid at `now`. A time that is not a number counts as past. */
export function isValid({ expiresAt, revokedAt }: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || now < expiresAt);
}

/** The fields of a key. The compiler reports a missing and an unknown one. */
const KEY_FIELDS: Readonly<Record<keyof ApiKey, true>> = {
  id: true,
  secretHash: true,
  name: true,
  scopes: true,
  agents: true,
  principal: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
};

/** Returns the caller of a key. Throws `internal` for an unknown field: ignoring a misspelt one could widen the rights. */
function callerOfKey(key: ApiKey): Caller {
  const problem = unknownField(key, KEY_FIELDS);
  if (problem !== undefined) throw new LonghaulError('internal', `The store of API keys returned an invalid key "${key.id}": ${problem}`);
  const { id, name, scopes, agents, principal, expiresAt } = key;
  return {
    id,
    name,
    principal,
    scopes,
    ...defined({ agents, expiresAt }),
  };
}

/** Stores API keys without their secrets. Servers query it for each request with a key, so a revocation takes effect at once. */
export interface ApiKeyStore {
  /**
   * Resolves with the key with this id, even if it has expired or is revoked; undefined if there is none. It has the fields of an
   * `ApiKey` alone: a key with another field is refused. Rejects if the lookup fails.
   */
  get(id: string): Promise<ApiKey | undefined>;
  /** Resolves with all keys in order of creation. */
  list(): Promise<readonly ApiKey[]>;
  /** Stores a key under its id, replacing any key with the same id. */
  put(key: ApiKey): Promise<void>;
  /** Marks a key as revoked since `at`, unless it already is. Resolves with false if there is no key with this id. */
  revoke(id: string, at: number): Promise<boolean>;
}

/** Only letters and digits: `_` separates the parts of a key, and a double click selects all of it. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const ID_LENGTH = 16;

/** 62 to the power of 43 is more than 2 to the power of 256. */
const SECRET_LENGTH = 43;

const KEY_PATTERN = new RegExp(`^lh_([0-9A-Za-z]{${ID_LENGTH}})_([0-9A-Za-z]{${SECRET_LENGTH}})$`);

/** Returns the parts of a key; undefined for any other text. */
export function parseApiKey(text: string): { id: string; secret: string } | undefined {
  const [, id, secret] = KEY_PATTERN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** Returns the SHA-256 of a secret. Unlike passwords, 256 random bits need no slow hash: nobody can guess them. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** The options of a store of API keys in a file. */
export interface FileApiKeysOptions {
  /** The path of the file, created with the first key. */
  file: string;
}

/** The mode of the file: only its owner reads and writes it. */
const OWNER_ONLY = 0o600;

/**
 * Creates a store of API keys in one file, for the servers of one machine. Servers reread the file as soon as it has changed. Each
 * change replaces the whole file, under a lock file next to it, as for a memory in a file. Without the file
 * there are no keys. Throws a UsageError without a path.
 */
export function fileApiKeys(options: FileApiKeysOptions): ApiKeyStore {
  if (typeof options.file !== 'string' || options.file === '') {
    throw new UsageError('fileApiKeys: "file" is missing: write the path of the file with the keys');
  }
  const file = path.resolve(options.file);
  const read = keptReading(file);
  const change = async (changed: (keys: ReadonlyMap<string, ApiKey>) => ApiKey[] | undefined): Promise<boolean> => {
    let after: ApiKey[] | undefined;
    const next = async (): Promise<string | undefined> => {
      after = changed(await keysIn(file));
      return after && keysText(after);
    };
    await changeFile(file, next, { mode: OWNER_ONLY, notFree: (message) => new LonghaulError('authorization_failed', message) });
    return after !== undefined;
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

/** Returns a function that reads the keys, and caches them until the file changes. */
function keptReading(file: string): () => Promise<ReadonlyMap<string, ApiKey>> {
  let kept: { version: string; keys: ReadonlyMap<string, ApiKey> } | undefined;
  return async () => {
    // The version is read first: if the file changes in between, the next call sees another version and reads again.
    const version = await versionOf(file);
    if (kept?.version !== version) kept = { version, keys: await keysIn(file) };
    return kept.keys;
  };
}

/** Returns a text that changes with the file; empty if there is no file. */
async function versionOf(file: string): Promise<string> {
  const stats = await ifThere(stat(file, { bigint: true }));
  return stats === undefined ? '' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

async function keysIn(file: string): Promise<ReadonlyMap<string, ApiKey>> {
  const text = await ifThere(readFile(file, 'utf8'));
  const keys = text === undefined ? [] : parseKeys(text, file);
  return new Map(keys.map((key) => [key.id, key]));
}

const VERSION = 1;

const NAME = z.string().min(1).max(200);
const TIME = z.number().int().nonnegative();

const STORED_KEY = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z]+$/, expecting('digits and letters')),
  secretHash: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hexadecimal digits'),
  name: NAME,
  scopes: z.array(z.enum(SCOPES)),
  agents: z.array(NAME).exactOptional(),
  principal: z.union([z.literal('all'), z.strictObject({ tenant: NAME.exactOptional(), user: NAME.exactOptional() })]),
  createdAt: TIME,
  expiresAt: TIME.exactOptional(),
  revokedAt: TIME.exactOptional(),
});

const FILE = z.strictObject({ version: z.literal(VERSION), keys: z.array(STORED_KEY) });

/** Throws a UsageError for a key that could not be read back. */
function requireStorable(keys: readonly ApiKey[]): void {
  const read = readValue(z.array(STORED_KEY), keys);
  const [problem] = read.ok ? [] : read.problems;
  if (problem !== undefined) throw new UsageError(`The key is not valid: "${problem.path.slice(1).join('.')}": ${problem.detail}`);
}

/** Returns the content of a file with these keys. Throws a UsageError for a key that could not be read back. */
function keysText(keys: readonly ApiKey[]): string {
  requireStorable(keys);
  return `${JSON.stringify({ version: VERSION, keys }, undefined, 2)}\n`;
}

/** Parses the keys in a file. Throws `authorization_failed` for any other content: a misunderstood key could have other rights. */
function parseKeys(text: string, file: string): ApiKey[] {
  const read = readValue(FILE, parsedJson(text));
  if (read.ok) return read.value.keys;
  const [problem] = read.problems;
  const where = problem === undefined || problem.path.length === 0 ? '' : ` (${problem.path.join('.')}: ${problem.detail})`;
  throw new LonghaulError(
    'authorization_failed',
    `The file "${file}" holds no API keys of this release${where}: use another file, or correct it`,
  );
}
