import type { Payload } from '@temporalio/common';
import { errorMessage, memberOf } from '../../core/domain/errors.ts';
import type { StreamEntry } from '../../core/domain/stream.ts';
import { pause, within } from '../waits.ts';
import { addCommands, type Addition, encodeEntries, type EntryConverter, type KeptBounds } from './stream-entries.ts';
import type { RedisConnection, Trouble } from './redis-connection.ts';

/** The bounds of what waits to be sent. */
export interface QueueBounds {
  entries: number;
  bytes: number;
}

/** The circumstances of a queue. */
interface QueueContext {
  connection: RedisConnection;
  converter: EntryConverter;
  trouble: Trouble;
  bounds: QueueBounds;
  kept: KeptBounds;
}

/** A waiting entry; without a payload, a mark that entries of the run were dropped here. */
interface Waiting {
  key: string;
  payload?: Payload;
  bytes: number;
}

const MOST_IN_BATCH = 500;
const BYTES_IN_BATCH = 1_000_000;
/** Approximate bytes of an entry besides its content. */
const ENTRY_OVERHEAD_BYTES = 300;
/** The most runs for which the queue remembers that entries were dropped. */
const MOST_GAPS = 10_000;
/** The time after which a connection without an answer is given up. Redis may be paused, for example by a snapshot of its machine. */
const ANSWER_MS = 30_000;
const RETRY_MS = 500;
/** The pause after a batch, in which entries accumulate. The first delta after a quiet time does not wait. */
const GATHER_MS = 10;

/**
 * The entries that wait to be sent, in order. One batch is in flight at a time. A batch without an answer is not sent again, because
 * it may have arrived: like entries beyond the bounds, it counts as dropped, and its runs get a mark where entries are missing.
 */
export class PublishQueue {
  readonly #context: QueueContext;
  readonly #stopped = new AbortController();
  /** The keys of the runs whose newest entries were dropped. */
  readonly #gaps = new Set<string>();
  #waiting: Waiting[] = [];
  #bytes = 0;
  #isSending = false;
  #isAccepting = true;
  #idle: Promise<void> = Promise.resolve();

  constructor(context: QueueContext) {
    this.#context = context;
  }

  /** Adds an entry, or drops it. Never throws. */
  push(key: string, entry: StreamEntry): void {
    if (!this.#isAccepting) return;
    try {
      const payload = this.#context.converter.payloadConverter.toPayload(entry);
      const bytes = ENTRY_OVERHEAD_BYTES + (payload.data?.length ?? 0);
      const { bounds } = this.#context;
      if (this.#waiting.length >= bounds.entries || this.#bytes + bytes > bounds.bytes)
        return this.#drop([{ key, bytes }], 'the queue is full');
      if (this.#gaps.delete(key)) this.#add({ key, bytes: ENTRY_OVERHEAD_BYTES });
      this.#add({ key, payload, bytes });
    } catch (error) {
      this.#drop([{ key, bytes: 0 }], errorMessage(error));
    }
    this.#send();
  }

  /** Accepts nothing more, and resolves when everything is sent or the time has passed. */
  async close(ms: number): Promise<void> {
    this.#isAccepting = false;
    await within(ms, this.#idle, () => new Error('late')).catch(() => undefined);
    this.#stopped.abort();
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#bytes += waiting.bytes;
  }

  #drop(dropped: readonly Waiting[], reason: string): void {
    for (const { key } of dropped) this.#gaps.add(key);
    for (const key of this.#gaps) {
      if (this.#gaps.size <= MOST_GAPS) break;
      this.#gaps.delete(key);
    }
    this.#context.trouble.drops(dropped.length, reason);
  }

  #send(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    this.#idle = this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    const { connection } = this.#context;
    const { signal } = this.#stopped;
    try {
      // What is published in the same turn goes together.
      await Promise.resolve();
      while (this.#waiting.length + this.#gaps.size > 0) {
        await connection.ready(signal);
        if (signal.aborted) return;
        const isSent = await this.#sendBatch(this.#takeBatch());
        if (isSent) this.#recover();
        if (!isSent) await pause(RETRY_MS, signal);
        else if (this.#waiting.length < MOST_IN_BATCH) await pause(GATHER_MS, signal);
      }
    } finally {
      // In the same turn as the last check of the queue: later entries start the loop again.
      this.#isSending = false;
    }
  }

  /** Reports recovery only when the queue has room again, so that a slow Redis is not reported for every batch. */
  #recover(): void {
    const { bounds, trouble } = this.#context;
    const hasRoom = this.#waiting.length * 2 <= bounds.entries && this.#bytes * 2 <= bounds.bytes;
    if (hasRoom && this.#gaps.size === 0) trouble.sends();
  }

  /** Takes the oldest entries, and the marks of the runs that end with dropped ones if nothing else waits. */
  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const one of this.#waiting) {
      if (count === MOST_IN_BATCH || (count > 0 && bytes + one.bytes > BYTES_IN_BATCH)) break;
      bytes += one.bytes;
      count += 1;
    }
    const batch = this.#waiting.splice(0, count);
    this.#bytes -= bytes;
    if (this.#waiting.length > 0) return batch;
    const marks = [...this.#gaps].map((key): Waiting => ({ key, bytes: ENTRY_OVERHEAD_BYTES }));
    this.#gaps.clear();
    return [...batch, ...marks];
  }

  /** Resolves with false if the batch was not sent, or may not have been. */
  async #sendBatch(batch: readonly Waiting[]): Promise<boolean> {
    const { connection, converter, kept } = this.#context;
    try {
      const payloads = batch.flatMap(({ payload }) => payload ?? []);
      const encoded = await encodeEntries(converter, payloads);
      const additions = batch.map(({ key, payload }): Addition => ({ key, content: payload === undefined ? undefined : encoded.shift() }));
      const late = (): Error => new Error(`Redis has not answered for ${ANSWER_MS} ms`);
      await within(ANSWER_MS, connection.transaction(addCommands(additions, kept)), late).catch((error: unknown) => {
        if (errorMessage(error) === late().message) connection.restart(late().message);
        throw error;
      });
      return true;
    } catch (error) {
      this.#lose(batch, error);
      return false;
    }
  }

  /** Marks the runs of a batch before their waiting entries, unless Redis refuses the key: it would also refuse the mark. */
  #lose(batch: readonly Waiting[], error: unknown): void {
    const entries = batch.filter(({ payload }) => payload !== undefined);
    const reason = firstRefusal(error) ?? errorMessage(error);
    this.#context.trouble.drops(entries.length, reason);
    if (firstRefusal(error) !== undefined) return;
    const keys = new Set(batch.map(({ key }) => key));
    const marks = [...keys].map((key): Waiting => ({ key, bytes: ENTRY_OVERHEAD_BYTES }));
    this.#waiting = [...marks, ...this.#waiting];
    this.#bytes += marks.length * ENTRY_OVERHEAD_BYTES;
  }
}

/** Returns the first error of commands that were refused in a transaction that took effect. */
function firstRefusal(error: unknown): string | undefined {
  const replies: unknown = memberOf(error, 'replies');
  if (!Array.isArray(replies)) return undefined;
  const refusal: unknown = replies.find((one) => one instanceof Error);
  return refusal === undefined ? undefined : errorMessage(refusal);
}
