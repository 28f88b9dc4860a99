import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import { Bell } from '../bell.ts';

/** The bounds of the entries of one run. */
export interface LogBounds {
  entries: number;
  bytes: number;
}

interface Kept {
  entry: StreamEntry | undefined;
  bytes: number;
}

const GONE: Kept = { entry: undefined, bytes: 0 };

/** The newest entries of one run. An entry keeps its index for as long as the log exists. */
export class RunLog {
  /** Differs from that of every other log of the process, also of the same run: their indexes mean other entries. */
  readonly id: number;
  /** Rings after each entry, and when entries that readers may lack are dropped. */
  readonly bell = new Bell();
  /** The number of readers. */
  readers = 0;
  /** The time of the last entry. */
  usedAt = 0;
  #kept: Kept[] = [];
  /** The number of entries at the beginning of `#kept` that are dropped: an array is not shortened for each. */
  #dropped = 0;
  #first = 0;
  #bytes = 0;

  constructor(id: number) {
    this.id = id;
  }

  /** The index of the oldest entry that is kept, or of the next one. */
  get first(): number {
    return this.#first;
  }

  /** The index of the next entry. */
  get next(): number {
    return this.#first + this.#kept.length - this.#dropped;
  }

  /** The bytes of all entries that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an entry, and drops the oldest ones beyond the bounds: all of them, if the entry alone is beyond. */
  append(entry: StreamEntry, bytes: number, bounds: LogBounds): void {
    this.#kept.push({ entry, bytes });
    this.#bytes += bytes;
    while (this.#bytes > bounds.bytes || this.next - this.#first > bounds.entries) this.#dropOldest();
    this.bell.ring();
  }

  /** Returns the entry of an index that is kept. */
  at(index: number): StreamEntry | undefined {
    return this.#kept[index - this.#first + this.#dropped]?.entry;
  }

  /** Drops all entries. A reader that has read them notices nothing. */
  clear(): void {
    this.#first = this.next;
    this.#kept = [];
    this.#dropped = 0;
    this.#bytes = 0;
    this.bell.ring();
  }

  #dropOldest(): void {
    this.#bytes -= this.#kept[this.#dropped]?.bytes ?? 0;
    // The entry itself may be large: it must not wait for the array to be shortened.
    this.#kept[this.#dropped] = GONE;
    this.#first += 1;
    this.#dropped += 1;
    if (this.#dropped * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#dropped);
    this.#dropped = 0;
  }
}
