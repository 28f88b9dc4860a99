import type { StreamEntry } from '../core/domain/stream.ts';

/** The bytes of an entry beside its content, about. */
const BESIDE = 400;
const BYTES_PER_CHARACTER = 2;

/** Returns about how many bytes of memory an entry takes. */
export function entrySize(entry: StreamEntry): number {
  if (entry.type !== 'delta') return BESIDE;
  const { delta } = entry;
  const characters = delta.type === 'data' ? (JSON.stringify(delta.data)?.length ?? 0) : delta.text.length;
  return BESIDE + characters * BYTES_PER_CHARACTER;
}
