import { Bell } from '../bell.ts';
import type { ReadItem } from './stream-commands.ts';
import { compareIds } from './stream-id.ts';

const MOST_ITEMS = 1_000;
const MOST_BYTES = 1_000_000;

/**
 * The newest entries of one run that is read, for all its readers in this process. A reader that is further behind reads from Redis, so that
 * a slow one costs nothing here.
 */
export class RunTail {
  readonly key: string;
  /** Rings if there are entries, or if readers must ask Redis. */
  readonly bell = new Bell();
  readers = 0;
  #generation = 0;
  #items: ReadItem[] = [];
  #bytes = 0;
  /** The items are all that followed this id. Undefined while nothing follows the stream. */
  #from: string | undefined;
  #last = '';

  constructor(key: string) {
    this.key = key;
  }

  /** Changes when it follows the stream from another place. Only Redis knows if an id of before, or of elsewhere, belongs to the stream. */
  get generation(): number {
    return this.#generation;
  }

  /** The id of the newest entry; undefined while nothing follows the stream. */
  get last(): string | undefined {
    return this.#from === undefined ? undefined : this.#last;
  }

  /** Returns the entries behind an id; undefined if only Redis knows them. */
  behind(id: string): readonly ReadItem[] | undefined {
    if (this.#from === undefined || compareIds(id, this.#from) < 0 || compareIds(id, this.#last) > 0) return undefined;
    // From the end: most readers have read all but the newest entries.
    return this.#items.slice(this.#items.findLastIndex((one) => compareIds(one.id, id) <= 0) + 1);
  }

  /** Begins to follow the stream behind an id. */
  begin(id: string): void {
    this.#generation += 1;
    this.#from = id;
    this.#last = id;
    this.#items = [];
    this.#bytes = 0;
    this.bell.ring();
  }

  /** Adds what followed the newest entry, and forgets the oldest beyond the bounds. */
  append(items: readonly ReadItem[]): void {
    this.#items.push(...items);
    for (const { id, bytes } of items) {
      this.#last = id;
      this.#bytes += bytes;
    }
    let count = 0;
    while (this.#items.length - count > MOST_ITEMS || this.#bytes > MOST_BYTES) {
      const oldest = this.#items[count];
      if (oldest === undefined) break;
      this.#from = oldest.id;
      this.#bytes -= oldest.bytes;
      count += 1;
    }
    this.#items.splice(0, count);
    this.bell.ring();
  }

  /** Stops to follow the stream: readers have to find their place in Redis again. */
  lose(): void {
    this.#generation += 1;
    this.#from = undefined;
    this.#items = [];
    this.#bytes = 0;
    this.bell.ring();
  }
}
