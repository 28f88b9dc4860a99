import type { Payload, PayloadCodec } from '@temporalio/common';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { LonghaulError } from '../core/domain/errors.ts';
import { KEY_ID_PATTERN, type Keyring, keyMissing } from './keyring.ts';
import { transformMatching, isEncodedAs, metadataText, packPayload, unpackPayload } from './payload-bytes.ts';

/** The encoding of an encrypted payload. */
export const ENCRYPTED_ENCODING = 'binary/aes-256-gcm';

/** The metadata field that names the key. */
export const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts every payload with its metadata: the new data consists of the initialisation vector, the ciphertext and
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

function keyIdOf({ metadata }: Payload): string {
  return metadataText(metadata?.[KEY_ID]) ?? '';
}

/** Returns the data outside the ciphertext that is authenticated. */
function authenticated(keyId: string): Uint8Array {
  return Buffer.from(`${ENCRYPTED_ENCODING}\n${keyId}`);
}
