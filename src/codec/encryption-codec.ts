import type { Payload, PayloadCodec } from '@temporalio/common';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { LonghaulError } from '../core/domain/errors/error.ts';
import { KEY_ID_PATTERN, type Keyring, keyMissing } from './keyring.ts';
import { codedWhere, isEncodedAs, metadataText, packPayload, unpackPayload } from './payload-bytes.ts';

/** How an encrypted payload names itself. */
export const ENCRYPTED_ENCODING = 'binary/aes-256-gcm';

/** The metadata that names the key. */
export const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts every payload with its metadata: the data becomes the initialisation vector, the ciphertext and the tag.
 * What stays outside, the encoding and the key's id, is authenticated. Payloads that are not encrypted pass at
 * decoding; without keys they pass at encoding too.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly #keyring: Keyring | undefined;
  /** The ids of keys with which something has been decrypted here. */
  readonly #proven = new Set<string>();

  constructor(keyring: Keyring | undefined) {
    this.#keyring = keyring;
  }

  /** Rejects with `encryption_key_missing` where the active key cannot be had. After this resolved, nothing is asked for it again. */
  async requireActiveKey(): Promise<void> {
    await this.#keyring?.key(this.#keyring.activeKeyId);
  }

  /** Throws `encryption_key_missing` where the active key cannot be had. */
  async encode(payloads: Payload[]): Promise<Payload[]> {
    const keyring = this.#keyring;
    if (keyring === undefined) return payloads;
    return Promise.all(payloads.map((payload) => encrypted(payload, keyring)));
  }

  /** Throws `encryption_key_missing` and `decryption_failed` with the key's id. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    const isEncrypted = (payload: Payload): boolean => isEncodedAs(payload, ENCRYPTED_ENCODING);
    return codedWhere(payloads, isEncrypted, async (payload) => {
      const plain = await decrypted(payload, this.#keyring);
      this.#proven.add(keyIdOf(payload));
      return plain;
    });
  }

  /**
   * True for a payload that does not decrypt if that may be the fault of this process: the key of its id has decrypted
   * nothing here so far, and may have other bytes than it should.
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
  // No process can have a key of such an id: there is nothing to wait for.
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
    // Throws where anything was changed, so nothing is read before it.
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

/** What is outside the ciphertext and must not be changed unseen. */
function authenticated(keyId: string): Uint8Array {
  return Buffer.from(`${ENCRYPTED_ENCODING}\n${keyId}`);
}
