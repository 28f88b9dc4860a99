import assert from 'node:assert/strict';
import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { StreamChannel, StreamRead } from '../stream-sink.ts';

/** The time in which a read has to arrive. It is long, because the machine of a test may be busy. */
const ARRIVAL_MS = 15_000;

/** A reader that reads only if it is asked to. */
export class Reading {
  readonly #abort = new AbortController();
  readonly #iterator: AsyncIterator<StreamRead>;

  constructor(channel: StreamChannel, runId: string, after: string | undefined) {
    const options = { signal: this.#abort.signal, ...(after === undefined ? {} : { after }) };
    this.#iterator = channel.read(runId, options)[Symbol.asyncIterator]();
  }

  /** Returns the next read, of any type. */
  async next(): Promise<StreamRead> {
    const { done, value } = await inTime(this.#iterator.next(), 'The next read did not arrive');
    assert.ok(done !== true, 'The reader ended, although nothing ended it');
    return value;
  }

  /** Returns the next entries. Fails for `lost`. */
  async entries(count: number): Promise<StreamEntry[]> {
    return (await this.reads(count)).map(({ entry }) => entry);
  }

  /** Returns the next entries with their positions. Fails for `lost`. */
  async reads(count: number): Promise<Extract<StreamRead, { type: 'entry' }>[]> {
    const reads: Extract<StreamRead, { type: 'entry' }>[] = [];
    while (reads.length < count) {
      const read = await this.next();
      assert.equal(read.type, 'entry', `The sink yielded "lost" after ${reads.length} of ${count} entries, although nothing is missing`);
      if (read.type === 'entry') reads.push(read);
    }
    return reads;
  }

  /** Asserts that the next read is `lost`. */
  async lost(): Promise<void> {
    const read = await this.next();
    assert.equal(read.type, 'lost', `The sink yielded ${JSON.stringify(read)} instead of "lost"`);
  }

  /** Aborts the signal of the reader. */
  abort(): void {
    this.#abort.abort();
  }

  /** Asserts that the reader has ended. */
  async ended(): Promise<void> {
    const { done, value } = await inTime(this.#iterator.next(), 'The reader did not end');
    assert.ok(done === true, `The sink yielded ${JSON.stringify(value)} to a reader that should have ended`);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#iterator.return?.();
  }
}

async function inTime<Value>(promise: Promise<Value>, says: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${says} within ${ARRIVAL_MS} ms` })), ARRIVAL_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
