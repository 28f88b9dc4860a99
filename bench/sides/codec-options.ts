import type { CodecOptions } from '../../src/codec/encryption.ts';
import type { Codec } from './side.ts';

/** The options of a worker and of a client for a codec of the bench: `zstd` compresses at every size. */
export function codecOptions(codec: Codec): { codec?: CodecOptions } {
  return codec === 'none' ? {} : { codec: { compression: { threshold: 0 } } };
}
