import { vi } from 'vitest';
import type { StreamChannel, StreamRead } from '../../src/streams/stream-sink.ts';

/** Everything that a reader got: indexes of deltas, types of other entries, and `lost`. */
export interface Collected {
  readonly reads: StreamRead[];
  readonly shown: (string | number)[];
  /** Resolves when the reader has got this last. */
  until(last: string | number): Promise<void>;
  stop(): void;
}

/** Reads a run in the background. */
export function collect(channel: StreamChannel, runId: string, after?: string): Collected {
  const abort = new AbortController();
  const collected = { reads: [] as StreamRead[], shown: [] as (string | number)[] };
  const reading = (async () => {
    for await (const read of channel.read(runId, { signal: abort.signal, ...(after === undefined ? {} : { after }) })) {
      collected.reads.push(read);
      collected.shown.push(shownRead(read));
    }
  })();
  return {
    ...collected,
    until: async (last) => {
      await Promise.race([
        vi.waitUntil(() => collected.shown.includes(last), { timeout: 15_000, interval: 5 }),
        reading.then(() => Promise.reject(new Error('The reader ended'))),
      ]);
    },
    stop: () => abort.abort(),
  };
}

function shownRead(read: StreamRead): string | number {
  if (read.type === 'lost') return 'lost';
  return read.entry.type === 'delta' ? read.entry.index : read.entry.type;
}
