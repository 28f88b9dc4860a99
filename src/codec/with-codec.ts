import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import {
  type ConverterHint,
  type DataConverter,
  defaultPayloadConverter,
  type LoadedDataConverter,
  type Payload,
  type PayloadCodec,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import { errorCode, errorMessage, LonghaulError, memberOf, UsageError } from '../core/domain/errors.ts';
import { readOrMark, UNREADABLE_ENCODING } from '../core/domain/json.ts';
import { didYouMean } from '../core/domain/text.ts';
import {
  type CodecOptions,
  EncryptionCodec,
  environmentKeys,
  isEncodedAs,
  Keyring,
  KEYS_VARIABLE,
  packPayload,
  transformMatching,
  unpackPayload,
} from './encryption.ts';
import { failureConverter } from './failure-converter.ts';

/**
 * The path of the module that clients, workers and workflow bundles load to encode failures: the source or the built
 * file. Empty in a bundled service, which contains that module, and whose format may have no `import.meta`.
 */
export const FAILURE_CONVERTER_PATH = fileBeside(import.meta.url, 'failure-converter');

function fileBeside(url: string | undefined, name: string): string {
  if (url === undefined) return '';
  const path = fileURLToPath(new URL(`./${name}${extname(url)}`, url));
  return existsSync(path) ? path : '';
}

const OPTIONS = ['compression', 'encryption'];

/** Returns the codecs for these options, in the order of encoding. Throws a UsageError for invalid options and keys. */
export function createCodecs(codec: CodecOptions = {}): readonly [CompressionCodec, EncryptionCodec] {
  const unknown = Object.keys(codec).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`codec has an unknown option "${unknown}" (known: ${OPTIONS.join(', ')})${didYouMean(unknown, OPTIONS)}`);
  }
  return [new CompressionCodec(codec.compression), new EncryptionCodec(keyring(codec.encryption))];
}

/**
 * Returns the data converter of a client or a worker, with the codecs of the options after its own, so that the output
 * of its own codecs is encrypted too. With encryption, messages and stacks of failures are encoded as well. Without
 * options it only decodes; if applied again, the last options count. `codecs` are the codecs of the options, if they
 * exist already. Throws a UsageError for invalid options, and for encryption together with a custom failure
 * converter.
 */
export function withCodec(
  converter: DataConverter = {},
  options?: CodecOptions,
  codecs: readonly PayloadCodec[] = createCodecs(options),
): DataConverter {
  const own = (converter.payloadCodecs ?? []).filter((one) => !isOurs(one));
  if (options === undefined && own.length < (converter.payloadCodecs?.length ?? 0)) return converter;
  const payloadCodecs = [...own, ...codecs];
  if (options?.encryption === undefined) return { ...converter, payloadCodecs };
  const { failureConverterPath } = converter;
  if (failureConverterPath !== undefined && failureConverterPath !== FAILURE_CONVERTER_PATH) {
    throw new UsageError(
      `codec.encryption brings its own failure converter, and dataConverter.failureConverterPath is "${failureConverterPath}": ` +
        'leave that out, or encryption, because messages of failures would stay in clear text',
    );
  }
  if (FAILURE_CONVERTER_PATH !== '') return { ...converter, payloadCodecs, failureConverterPath: FAILURE_CONVERTER_PATH };
  const { payloadConverterPath, ...rest } = converter;
  if (payloadConverterPath !== undefined) {
    throw new UsageError(
      'codec.encryption and dataConverter.payloadConverterPath work together only where "longhaul" is not bundled: leave it out of the bundle (external)',
    );
  }
  // Temporal's clients also accept a loaded converter: in a bundle there is no file to load.
  const loaded: LoadedDataConverter = { ...rest, payloadConverter: defaultPayloadConverter, failureConverter, payloadCodecs };
  return loaded;
}

/**
 * Returns the same data converter for a worker: a payload that Longhaul's codecs cannot decode becomes a payload that
 * says so, and a run refuses it. A key that has decrypted nothing so far may have the wrong bytes; then the worker
 * fails the task, which another worker may be able to do. The user's own codecs stay unchanged.
 */
export function markingUnreadable(converter: DataConverter = {}): DataConverter {
  return { ...converter, payloadCodecs: markingCodecs(converter.payloadCodecs ?? [], { doubtKeys: true }) };
}

/**
 * Returns the same codecs, where Longhaul's codecs mark payloads that they cannot decode. With `doubtKeys` they
 * fail instead if a key may have the wrong bytes.
 */
export function markingCodecs(codecs: readonly PayloadCodec[], { doubtKeys = false } = {}): PayloadCodec[] {
  return codecs.map((one) => (one instanceof CompressionCodec || one instanceof EncryptionCodec ? new MarkingCodec(one, doubtKeys) : one));
}

function isOurs(codec: PayloadCodec): boolean {
  return codec instanceof MarkingCodec || codec instanceof CompressionCodec || codec instanceof EncryptionCodec;
}

function keyring(encryption: CodecOptions['encryption']): Keyring | undefined {
  if (encryption === undefined) return undefined;
  if (encryption !== 'environment') return new Keyring(encryption);
  const keys = environmentKeys(process.env);
  if (keys === undefined)
    throw new UsageError(`codec.encryption is "environment" and ${KEYS_VARIABLE} is not set: set it to id:base64, the active key first`);
  return new Keyring(keys);
}

/**
 * A codec of Longhaul. `mayLackKey` of an encrypting codec says whether this process may be the reason why a payload
 * did not decode.
 */
interface OwnCodec extends PayloadCodec {
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
      if (errorCode(error) === 'encryption_key_missing' || (this.#doubtKeys && this.codec.mayLackKey?.(payload)))
        throw ofRun(error, context?.workflowId);
      return { metadata: { encoding: Buffer.from(`${UNREADABLE_ENCODING}${errorMessage(error)}`) }, data: new Uint8Array() };
    }
  }
}

/** Names the run whose payload lacks its key, for the log of the worker. Payloads of several runs may share the error. */
function ofRun(error: unknown, workflowId: string | undefined): unknown {
  const code = errorCode(error);
  if (workflowId === undefined || code === undefined) return error;
  return Object.assign(new LonghaulError(code, errorMessage(error), { cause: error }), { workflowId });
}

/** The encoding of a compressed payload. */
const ZSTD_ENCODING = 'binary/zstd';

/**
 * The smallest number of bytes that is compressed by default: smaller payloads stay readable in the stock Temporal
 * UI.
 */
const DEFAULT_THRESHOLD = 32_000;

/**
 * The smallest number of bytes for which the thread pool is used: for fewer, passing them to it takes longer than the
 * work.
 */
const POOL_BYTES = 64_000;

/**
 * The maximum size of a decompressed payload, so that a small malicious one cannot exhaust the memory of the process. Larger payloads are
 * not compressed: spilled content may have any size.
 */
const MAX_BYTES = 64 * 1024 * 1024;

const METADATA = { encoding: Buffer.from(ZSTD_ENCODING) };
const compressInPool = promisify(zlib.zstdCompress);
const decompressInPool = promisify(zlib.zstdDecompress);

/** Compresses payloads of a minimum size, up to 64 MiB, if that makes them smaller, and leaves all others unchanged. */
export class CompressionCodec implements PayloadCodec {
  readonly #threshold: number;

  /** Throws a UsageError for a threshold that is not a number of bytes. */
  constructor(compression: CodecOptions['compression']) {
    this.#threshold = thresholdOf(compression);
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const isLarge = ({ data }: Payload): boolean => (data?.length ?? 0) >= this.#threshold;
    return transformMatching(payloads, isLarge, compressed);
  }

  /** Throws `decompression_failed`. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return transformMatching(payloads, (payload) => isEncodedAs(payload, ZSTD_ENCODING), restored);
  }
}

async function compressed(payload: Payload): Promise<Payload> {
  const bytes = packPayload(payload);
  if (bytes.length > MAX_BYTES) return payload;
  const data = bytes.length < POOL_BYTES ? zlib.zstdCompressSync(bytes) : await compressInPool(bytes);
  const smaller = { metadata: METADATA, data };
  return packPayload(smaller).length < bytes.length ? smaller : payload;
}

async function restored({ data }: Payload): Promise<Payload> {
  const limit = { maxOutputLength: MAX_BYTES };
  const bytes = data ?? new Uint8Array();
  try {
    return unpackPayload(bytes.length < POOL_BYTES ? zlib.zstdDecompressSync(bytes, limit) : await decompressInPool(bytes, limit));
  } catch (cause) {
    const why =
      memberOf(cause, 'code') === 'ERR_BUFFER_TOO_LARGE'
        ? `it would grow to more than ${MAX_BYTES} bytes`
        : 'it was changed, or is not a zstd frame';
    throw new LonghaulError('decompression_failed', `A compressed payload of ${bytes.length} bytes does not decompress: ${why}`, { cause });
  }
}

function thresholdOf(compression: CodecOptions['compression']): number {
  if (compression === undefined || compression === false) return Infinity;
  const { threshold } = compression === true ? { threshold: DEFAULT_THRESHOLD } : compression;
  if (Number.isSafeInteger(threshold) && threshold >= 0) return threshold;
  throw new UsageError(`codec.compression.threshold is "${threshold}": give a whole number of bytes, 0 for all payloads`);
}

/**
 * Returns the same converter for values from any sender: an unreadable value becomes an `Unreadable`, as in the
 * workflow, so that it does not keep a client from reading the rest of a run. Still throws `encryption_key_missing`,
 * and the errors of the user's own codecs.
 */
export function markingConverter(converter: LoadedDataConverter): LoadedDataConverter {
  return {
    ...converter,
    payloadCodecs: markingCodecs(converter.payloadCodecs),
    payloadConverter: markingPayloads(converter.payloadConverter),
  };
}

function markingPayloads(converter: PayloadConverter): PayloadConverter {
  return {
    toPayload: (value, context, hint) => converter.toPayload(value, context, hint),
    fromPayload: <Value>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<Value>): Value =>
      readOrMark(payload, () => converter.fromPayload<Value>(payload, context, hint)) as Value,
  };
}

/** A payload too small to be compressed. */
const PROBE: Payload = { metadata: {}, data: new Uint8Array([1]) };

/** True if payloads are readable on the server: no codec, Longhaul's or the user's, changes a small one. */
export async function leavesReadable(codecs: readonly PayloadCodec[]): Promise<boolean> {
  let payloads = [PROBE];
  for (const codec of codecs) payloads = await codec.encode(payloads);
  return Buffer.compare(payloads[0]?.data ?? new Uint8Array(), PROBE.data ?? new Uint8Array()) === 0;
}
