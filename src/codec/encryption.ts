import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';

/** The encoding of an encrypted payload. */
export const ENCRYPTED_ENCODING = 'binary/aes-256-gcm';

/** The metadata field that names the key. */
export const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts every payload with its metadata: the new data consists of the initialization vector, the ciphertext and
 * the tag. The encoding and the key's id stay in clear text and are authenticated. Decoding leaves payloads that are
 * not encrypted unchanged; without keys, encoding leaves all payloads unchanged.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly #keyring: Keyring | undefined;
  /** Ids of keys that have decrypted something in this process. */
  readonly #proven = new Set<string>();

  constructor(keyring: Keyring | undefined) {
    this.#keyring = keyring;
  }

  /**
   * Rejects with `encryption_key_missing` if the active key is not available. Once this has resolved, the key is not
   * requested again.
   */
  async requireActiveKey(): Promise<void> {
    await this.#keyring?.key(this.#keyring.activeKeyId);
  }

  /** Throws `encryption_key_missing` if the active key is not available. */
  async encode(payloads: Payload[]): Promise<Payload[]> {
    const keyring = this.#keyring;
    if (keyring === undefined) return payloads;
    return Promise.all(payloads.map((payload) => encrypted(payload, keyring)));
  }

  /** Throws `encryption_key_missing` and `decryption_failed` with the key's id. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    const isEncrypted = (payload: Payload): boolean => isEncodedAs(payload, ENCRYPTED_ENCODING);
    return transformMatching(payloads, isEncrypted, async (payload) => {
      const plain = await decrypted(payload, this.#keyring);
      this.#proven.add(keyIdOf(payload));
      return plain;
    });
  }

  /**
   * True if this process may be the reason why a payload does not decrypt: the key with its id has decrypted nothing
   * here so far, and may have the wrong bytes.
   */
  mayLackKey(payload: Payload): boolean {
    const keyId = keyIdOf(payload);
    return KEY_ID_PATTERN.test(keyId) && !this.#proven.has(keyId);
  }
}

async function encrypted(payload: Payload, keyring: Keyring): Promise<Payload> {
  const keyId = keyring.activeKeyId;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, await keyring.key(keyId), iv).setAAD(authenticated(keyId));
  const data = Buffer.concat([iv, cipher.update(packPayload(payload)), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(ENCRYPTED_ENCODING), [KEY_ID]: Buffer.from(keyId) }, data };
}

async function decrypted({ metadata, data }: Payload, keyring: Keyring | undefined): Promise<Payload> {
  const keyId = metadataText(metadata?.[KEY_ID]) ?? '';
  // No process can have a key with such an id, so waiting for another worker is useless.
  if (!KEY_ID_PATTERN.test(keyId))
    throw new LonghaulError('decryption_failed', 'An encrypted payload does not name the key that it was encrypted with: send it again');
  if (keyring === undefined) throw keyMissing(keyId, 'this process has no encryption keys');
  const key = await keyring.key(keyId);
  const bytes = data ?? new Uint8Array();
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(authenticated(keyId))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    // Throws if anything was changed, so the plaintext is not used before this.
    decipher.final();
    return unpackPayload(plain);
  } catch (cause) {
    throw new LonghaulError(
      'decryption_failed',
      `A payload does not decrypt with the key "${keyId}": the key is not the one it was encrypted with, or the payload was changed. ` +
        `Check the bytes behind "${keyId}" in this process`,
      { cause },
    );
  }
}

/** Returns the id of the key of an encrypted payload, which is in clear text. */
export function keyIdOf({ metadata }: Payload): string {
  return metadataText(metadata?.[KEY_ID]) ?? '';
}

/** Returns the authenticated data outside the ciphertext. */
function authenticated(keyId: string): Uint8Array {
  return Buffer.from(`${ENCRYPTED_ENCODING}\n${keyId}`);
}

const KEY_BYTES = 32;

/**
 * The format of a key id. It is short because it is stored with every payload, even of the short summaries in the
 * Temporal UI.
 */
const KEY_ID_PATTERN = /^[\x21-\x7e]{1,64}$/;

/** The keys of a process: the active one for encryption, and the keys of older payloads. */
export class Keyring {
  readonly activeKeyId: string;
  readonly #load: (keyId: string) => Promise<EncryptionKey>;
  readonly #known = new Map<string, Promise<KeyObject>>();

  /** Throws a UsageError for invalid keys. Keys from a function are checked when they are used. */
  constructor({ activeKeyId, keys }: EncryptionOptions) {
    if (!KEY_ID_PATTERN.test(activeKeyId))
      throw new UsageError(`codec.encryption.activeKeyId is "${activeKeyId}": give an id of 1 to 64 ASCII characters without spaces`);
    this.activeKeyId = activeKeyId;
    if (typeof keys === 'function') {
      this.#load = async (keyId) => keys(keyId);
      return;
    }
    const byId = new Map(Object.entries(keys));
    if (!byId.has(activeKeyId)) throw new UsageError(`codec.encryption.keys has no key "${activeKeyId}", which is the active one: add it`);
    for (const [keyId, key] of byId) if (key.length !== KEY_BYTES) throw new UsageError(wrongLength(keyId, key));
    this.#load = (keyId) => Promise.resolve(byId.get(keyId));
  }

  /** Returns the key with this id. Throws `encryption_key_missing`, with the id, if there is none. */
  async key(keyId: string): Promise<KeyObject> {
    const known = this.#known.get(keyId);
    if (known !== undefined) return known;
    const loading = this.#loadKey(keyId);
    this.#known.set(keyId, loading);
    try {
      return await loading;
    } catch (error) {
      // A key that is missing now may exist the next time.
      this.#known.delete(keyId);
      throw error;
    }
  }

  async #loadKey(keyId: string): Promise<KeyObject> {
    let key: EncryptionKey;
    try {
      key = await this.#load(keyId);
    } catch (error) {
      throw keyMissing(keyId, `asking for it failed: ${errorMessage(error)}`, error);
    }
    if (key === undefined) throw keyMissing(keyId, 'it is not among the keys of this process');
    if (key.length !== KEY_BYTES) throw keyMissing(keyId, wrongLength(keyId, key));
    return createSecretKey(key);
  }
}

/** Returns the error for a needed key that is not available. */
function keyMissing(keyId: string, why: string, cause?: unknown): LonghaulError {
  return new LonghaulError(
    'encryption_key_missing',
    `The encryption key "${keyId}" is missing (${why}): give it in codec.encryption, or in LONGHAUL_ENCRYPTION_KEYS`,
    defined({ cause }),
  );
}

function wrongLength(keyId: string, key: Uint8Array): string {
  return `The encryption key "${keyId}" has ${key.length} bytes: AES-256 needs ${KEY_BYTES}, such as "openssl rand -base64 ${KEY_BYTES}" prints`;
}

/** The environment variable with the keys: `id:base64,id2:base64`. The first one is the active key. */
export const KEYS_VARIABLE = 'LONGHAUL_ENCRYPTION_KEYS';
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Returns the keys in the environment; undefined if there are none. Throws a UsageError, without quoting a key, if
 * they cannot be read.
 */
export function environmentKeys(env: NodeJS.ProcessEnv): EncryptionOptions | undefined {
  const text = env[KEYS_VARIABLE]?.trim();
  if (text === undefined || text === '') return undefined;
  const entries = text.split(',').map((entry, index) => keyEntry(entry.trim(), index + 1));
  const ids = entries.map(([keyId]) => keyId);
  const twice = ids.find((keyId, index) => ids.indexOf(keyId) !== index);
  if (twice !== undefined) throw new UsageError(`${KEYS_VARIABLE} has two keys "${twice}": give each its own id`);
  return { activeKeyId: ids[0] ?? '', keys: Object.fromEntries(entries) };
}

function keyEntry(entry: string, position: number): [string, Uint8Array] {
  const colon = entry.indexOf(':');
  // An entry without a colon may be the key itself, so the message does not repeat it.
  if (colon < 1) throw new UsageError(`Entry ${position} of ${KEYS_VARIABLE} has no key id: write id:base64, separated by commas`);
  const keyId = entry.slice(0, colon);
  const encoded = entry.slice(colon + 1);
  const key = BASE64.test(encoded) ? Uint8Array.from(Buffer.from(encoded, 'base64')) : new Uint8Array();
  if (key.length === KEY_BYTES) return [keyId, key];
  throw new UsageError(
    `The key "${keyId}" in ${KEYS_VARIABLE} is not ${KEY_BYTES} bytes in base64: "openssl rand -base64 ${KEY_BYTES}" prints one`,
  );
}

/**
 * The encoding of payloads before they are sent to the server. Decoding does not depend on these options: a process
 * without them decompresses payloads, and names the key that it lacks for encrypted ones.
 */
export interface CodecOptions {
  /** `true` compresses payloads of 32 kB and more. Default: off. */
  compression?: boolean | CompressionOptions;
  /** `'environment'` takes the keys from `LONGHAUL_ENCRYPTION_KEYS`. Default: off. */
  encryption?: 'environment' | EncryptionOptions;
}

/** The payloads to compress. */
export interface CompressionOptions {
  /** The smallest number of bytes that is compressed, if compression makes it smaller; 0 for all payloads. */
  threshold: number;
}

/** Keys of 32 bytes each, by id. A function may read a key store; it is called once for each id. */
export type EncryptionKeys = Readonly<Record<string, Uint8Array>> | ((keyId: string) => EncryptionKey | Promise<EncryptionKey>);

/** The 32 bytes of a key, or undefined if there is no key with that id. */
export type EncryptionKey = Uint8Array | undefined;

/** The keys for encrypting and decrypting payloads. */
export interface EncryptionOptions {
  /** The key that new payloads are encrypted with. The id is stored with each payload in clear text. */
  activeKeyId: string;
  /** The active key, and the keys of older payloads. */
  keys: EncryptionKeys;
}

const message = proto.temporal.api.common.v1.Payload;

/** Returns a payload with its metadata as bytes, which a codec puts inside another payload. */
export function packPayload(payload: Payload): Uint8Array {
  return message.encode(payload).finish();
}

/** Returns the payload that `packPayload` turned into bytes. Throws for other bytes. */
export function unpackPayload(bytes: Uint8Array): Payload {
  return message.decode(bytes);
}

/** True if a payload has this encoding. Most payloads of a run do not, and the length alone shows it. */
export function isEncodedAs({ metadata }: Payload, encoding: string): boolean {
  const named = metadata?.['encoding'];
  return named?.length === encoding.length && metadataText(named) === encoding;
}

/**
 * Returns the payloads in order, with those that match transformed. Every payload of a run passes through here; if
 * none matches, this costs almost nothing.
 */
export async function transformMatching(
  payloads: Payload[],
  needsIt: (payload: Payload) => boolean,
  code: (payload: Payload) => Promise<Payload>,
): Promise<Payload[]> {
  if (!payloads.some(needsIt)) return payloads;
  return Promise.all(payloads.map((payload) => (needsIt(payload) ? code(payload) : Promise.resolve(payload))));
}

/** Returns a value of a payload's metadata as text. */
function metadataText(value: Uint8Array | null | undefined): string | undefined {
  return value === null || value === undefined ? undefined : Buffer.from(value).toString('utf8');
}
