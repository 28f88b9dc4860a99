import { createSecretKey, type KeyObject } from 'node:crypto';
import { errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { EncryptionKey, EncryptionOptions } from './codec-options.ts';

const KEY_BYTES = 32;

/**
 * The format of a key id. It is short because it is stored with every payload, even of the short summaries in the
 * Temporal UI.
 */
export const KEY_ID_PATTERN = /^[\x21-\x7e]{1,64}$/;

/** The keys of a process: the active one for encryption, and those of older payloads. */
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

  /** Returns the key with that id. Throws `encryption_key_missing`, with the id, if there is none. */
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

/** Returns the error for a key that is needed and not available. */
export function keyMissing(keyId: string, why: string, cause?: unknown): LonghaulError {
  return new LonghaulError(
    'encryption_key_missing',
    `The encryption key "${keyId}" is missing (${why}): give it in codec.encryption, or in LONGHAUL_ENCRYPTION_KEYS`,
    cause === undefined ? {} : { cause },
  );
}

function wrongLength(keyId: string, key: Uint8Array): string {
  return `The encryption key "${keyId}" has ${key.length} bytes: AES-256 needs ${KEY_BYTES}, such as "openssl rand -base64 ${KEY_BYTES}" prints`;
}
