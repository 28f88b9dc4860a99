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
  /** The active key and those that older payloads were encrypted with. */
  keys: EncryptionKeys;
}
