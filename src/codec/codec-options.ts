/**
 * How payloads are encoded on their way to the server. Whatever is left out is still read: a process without options
 * decodes what is compressed, and says which key it lacks for what is encrypted.
 */
export interface CodecOptions {
  /** `true` compresses payloads of 32 kB and more. Default: off. */
  compression?: boolean | CompressionOptions;
  /** `'environment'` takes the keys from `LONGHAUL_ENCRYPTION_KEYS`. Default: off. */
  encryption?: 'environment' | EncryptionOptions;
}

/** Which payloads are compressed. */
export interface CompressionOptions {
  /** Bytes of data from which on a payload is compressed, where that makes it smaller; 0 stands for all. */
  threshold: number;
}

/** Keys by their id: each has 32 bytes. A function may ask a key store; it is asked once for each id. */
export type EncryptionKeys = Readonly<Record<string, Uint8Array>> | ((keyId: string) => EncryptionKey | Promise<EncryptionKey>);

/** The 32 bytes of a key, or undefined where there is none of that id. */
export type EncryptionKey = Uint8Array | undefined;

/** What payloads are encrypted with, and what they are read with. */
export interface EncryptionOptions {
  /** The key that new payloads are encrypted with. The id is stored with each payload in clear text. */
  activeKeyId: string;
  /** The active key and those that older payloads were encrypted with. */
  keys: EncryptionKeys;
}
