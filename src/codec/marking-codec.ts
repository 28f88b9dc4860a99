import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { errorCode, errorMessage } from '../domain/error.ts';
import { UNREADABLE_ENCODING } from '../domain/unreadable.ts';

/**
 * A codec for workers. What does not decode, and never will, becomes a payload that says so: an error here would fail the
 * workflow task, which is tried again for ever. A key that is missing is an error all the same, since another worker may
 * have it.
 */
export class MarkingCodec implements PayloadCodec {
  readonly codec: PayloadCodec;

  constructor(codec: PayloadCodec) {
    this.codec = codec;
  }

  encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return this.codec.encode(payloads, context);
  }

  /** Throws `encryption_key_missing`, and nothing else. */
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
      if (errorCode(error) === 'encryption_key_missing') throw error;
      return { metadata: { encoding: Buffer.from(`${UNREADABLE_ENCODING}${errorMessage(error)}`) }, data: new Uint8Array() };
    }
  }
}
