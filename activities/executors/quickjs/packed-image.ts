import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** Begins every checkpoint. */
const MAGIC = Buffer.from('LHQJS2\n');
/** Bytes that an image may have beyond the limit of the code: the engine's own, what is lost between values, and the header. */
const OVERHEAD_BYTES = 65 * 1_048_576;

const compress = promisify(zlib.zstdCompress);
const decompress = promisify(zlib.zstdDecompress);

/**
 * Compresses the image of a memory to a checkpoint. This is not done in the thread of the code: if a thread is ended at the moment at
 * which it creates a stream of zlib, Node aborts the whole process ("close before init").
 */
export async function packImage(image: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat([MAGIC, await compress(image)]));
}

/** Returns the image of a checkpoint for code with that limit of memory, or why it is none. */
export async function unpackImage(checkpoint: Uint8Array, memoryBytes: number): Promise<Uint8Array | { problem: string }> {
  if (!MAGIC.equals(checkpoint.subarray(0, MAGIC.length))) return { problem: 'it is no checkpoint of this executor' };
  try {
    return await decompress(checkpoint.subarray(MAGIC.length), { maxOutputLength: memoryBytes + OVERHEAD_BYTES });
  } catch {
    return { problem: 'it is damaged' };
  }
}
