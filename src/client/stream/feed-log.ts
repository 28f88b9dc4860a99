import type { Delta, StreamedAttempt } from '../../core/domain/stream.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import { Bell } from '../../streams/bell.ts';
import { jsonBytes } from '../../core/domain/byte-budgets.ts';
import type { StreamedResult } from './stream-item.ts';

/** One thing that has happened in a run, in the order in which all its readers see it. `step` of live output is the step that goes on. */
export type FeedEntry =
  | { type: 'event'; offset: number; event: Event }
  | { type: 'step'; index: number; step: StepResult }
  | { type: 'attempt'; of: StreamedAttempt; step: number }
  | { type: 'delta'; of: StreamedAttempt; index: number; delta: Delta; step: number }
  /** Live output may be missing. `offset`: that of the next event. */
  | { type: 'gap'; offset: number }
  | { type: 'status'; status: RunStatus; offset: number }
  | { type: 'end'; executionId: string; result: StreamedResult }
  /** The run has been sent back to an earlier step: readers begin again from their places. */
  | { type: 'sent_back' }
  /** The run cannot be followed any more. */
  | { type: 'failed'; error: unknown };

/** The most bytes and entries that are kept for readers that lag behind. They read the record instead, and miss deltas. */
const MOST_BYTES = 4_000_000;
const MOST_ENTRIES = 20_000;

/** The newest entries of a run, numbered by their position, for any number of readers. */
export class FeedLog {
  /** Rings when the log has grown. */
  readonly bell = new Bell();
  readonly #entries: { entry: FeedEntry; bytes: number }[] = [];
  #first = 0;
  #bytes = 0;

  /** The position of the oldest entry that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The position of the next entry. */
  get next(): number {
    return this.#first + this.#entries.length;
  }

  /** Returns the entry at a position, or undefined if it is not kept or has not come yet. */
  at(position: number): FeedEntry | undefined {
    return this.#entries[position - this.#first]?.entry;
  }

  /** Appends an entry, and drops the oldest ones beyond the bounds. */
  push(entry: FeedEntry): void {
    const bytes = bytesOf(entry);
    this.#entries.push({ entry, bytes });
    this.#bytes += bytes;
    while (this.#entries.length > MOST_ENTRIES || (this.#bytes > MOST_BYTES && this.#entries.length > 1)) {
      this.#bytes -= this.#entries.shift()?.bytes ?? 0;
      this.#first += 1;
    }
    this.bell.ring();
  }
}

const BYTES_BESIDE = 200;

function bytesOf(entry: FeedEntry): number {
  if (entry.type === 'event') return jsonBytes(entry.event) + BYTES_BESIDE;
  if (entry.type === 'step') return jsonBytes(entry.step) + BYTES_BESIDE;
  return entry.type === 'delta' ? jsonBytes(entry.delta) + BYTES_BESIDE : BYTES_BESIDE;
}
