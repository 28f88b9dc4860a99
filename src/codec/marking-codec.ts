import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { errorCode, errorMessage } from '../core/domain/errors/error.ts';
import { UNREADABLE_ENCODING } from '../core/domain/json/unreadable.ts';

/**
 * A codec of Longhaul. `mayLackKey` of an encrypting codec tells whether this process may be the reason why a payload
 * did not decode.
 */
export interface OwnCodec extends PayloadCodec {
  mayLackKey?(payload: Payload): boolean;
}

/**
 * A codec for workers. A payload that can never be decoded becomes a payload that says so, because an error would
 * fail the workflow task, which Temporal retries forever. A key that is missing, or may have the wrong bytes, is
 * still an error, because another worker may have it.
 */
export class MarkingCodec implements PayloadCodec {
  readonly codec: OwnCodec;
  readonly #doubtKeys: boolean;

  /** `doubtKeys`: a payload that does not decrypt is also an error if its key has decrypted nothing here so far. */
  constructor(codec: OwnCodec, doubtKeys: boolean) {
    this.codec = codec;
    this.#doubtKeys = doubtKeys;
  }

  encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return this.codec.encode(payloads, context);
  }

  /** Throws `encryption_key_missing`, `decryption_failed` if keys are doubted, and nothing else. */
  async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    try {
      return await this.codec.decode(payloads, context);
    } catch {
      return Promise.all(payloads.map((payload) => this.#decodeOne(payload, context)));
    }
  }

  async #decodeOne(payload: Payload, context: SerializationContext | undefined): Promise<Payload> {
    try {
      const [decoded = payload] = await this.codec.decode([payload], context);
      return decoded;
    } catch (error) {
      if (errorCode(error) === 'encryption_key_missing' || (this.#doubtKeys && this.codec.mayLackKey?.(payload))) throw error;
      return { metadata: { encoding: Buffer.from(`${UNREADABLE_ENCODING}${errorMessage(error)}`) }, data: new Uint8Array() };
    }
  }
}
