import type { Payload, PayloadCodec } from '@temporalio/common';
import { promisify } from 'node:util';
// The default import also links on an older Node that lacks these functions, so that the check of Node's version can
// report it.
import zlib from 'node:zlib';
import { LonghaulError, UsageError } from '../core/domain/errors/error.ts';
import type { CodecOptions } from './codec-options.ts';
import { transformMatching, isEncodedAs, packPayload, unpackPayload } from './payload-bytes.ts';

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
 * The maximum size of a decompressed payload, so that a small malicious one cannot exhaust the memory of the process.
 */
const MAX_BYTES = 64 * 1024 * 1024;

const METADATA = { encoding: Buffer.from(ZSTD_ENCODING) };
const compressInPool = promisify(zlib.zstdCompress);
const decompressInPool = promisify(zlib.zstdDecompress);

/** Compresses payloads of a minimum size if that makes them smaller, and leaves all others unchanged. */
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
    const why = isTooLarge(cause) ? `it would grow to more than ${MAX_BYTES} bytes` : 'it was changed, or is no zstd frame';
    throw new LonghaulError('decompression_failed', `A compressed payload of ${bytes.length} bytes does not decompress: ${why}`, { cause });
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function thresholdOf(compression: CodecOptions['compression']): number {
  if (compression === undefined || compression === false) return Infinity;
  const { threshold } = compression === true ? { threshold: DEFAULT_THRESHOLD } : compression;
  if (Number.isSafeInteger(threshold) && threshold >= 0) return threshold;
  throw new UsageError(`codec.compression.threshold is "${threshold}": give a whole number of bytes, 0 for all payloads`);
}
