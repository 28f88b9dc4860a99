import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { unlessAborted } from '../../streams/bounded-wait.ts';
import { isResponse } from '../../core/domain/record/run-record.ts';
import { requireKnown } from '../../define/options/option-checks.ts';
import { beginning, placeOf, type StreamPlace, tagOf } from './cursor.ts';
import type { FeedEntry } from './feed-log.ts';
import { PlaceInStream } from './place-in-stream.ts';
import { recordEntries } from './record-entries.ts';
import type { RecordPlace } from './record-pages.ts';
import { ReplacedOutput } from './replaced-output.ts';
import type { RunFeed } from './run-feed.ts';
import type { RunFeeds } from './run-feeds.ts';
import type { StreamItem } from './stream-item.ts';

/** The options of a stream. */
export interface StreamOptions {
  /** The cursor of the item behind which the stream begins. Default: the beginning of the run. */
  cursor?: string;
  /** Ends the stream: the next item is not awaited any more, and the signal's reason is thrown. */
  signal?: AbortSignal;
}

/** Yields the items of a run's stream, from a cursor on until the run has ended. Throws `invalid_cursor` and the errors of reading. */
export async function* streamRun(feeds: Pick<RunFeeds, 'follow'>, runId: string, options: StreamOptions): AsyncGenerator<StreamItem> {
  requireKnown('"stream"', options, ['cursor', 'signal']);
  const { cursor, signal = new AbortController().signal } = options;
  let from = cursor === undefined ? beginning() : placeOf(runId, cursor);
  signal.throwIfAborted();
  for (;;) {
    const { feed, release } = feeds.follow(runId);
    const reader = new StreamReader(runId, feed, from);
    try {
      // The record takes a worker, or seconds: a reader that has all of it does not wait for them.
      if (from.ended !== undefined && (await unlessAborted(feed.hasEndedWith(from.ended), signal))) return;
      for await (const item of reader.items(signal)) {
        signal.throwIfAborted();
        yield item;
      }
    } finally {
      release();
    }
    if (!reader.beginsAgain) return;
    from = reader.place;
  }
}

/** Reads the stream of a run for one reader. */
class StreamReader {
  readonly #runId: string;
  readonly #feed: RunFeed;
  readonly #from: StreamPlace;
  readonly #place: PlaceInStream;
  /** True if the run was sent back to an earlier step while it was read: another feed goes on. */
  beginsAgain = false;
  /** Knows the events that this reader has read before the feed: a page may hold more than there was when the feed began. */
  readonly #ahead = new ReplacedOutput();

  constructor(runId: string, feed: RunFeed, from: StreamPlace) {
    this.#runId = runId;
    this.#feed = feed;
    this.#from = from;
    this.#place = new PlaceInStream(runId, { ...from, live: new Map(from.live) });
  }

  /** The place of the reader. */
  get place(): StreamPlace {
    return this.#place.place;
  }

  /** Yields the items. Throws the reason of the signal, which ends the wait for the next one. */
  async *items(signal: AbortSignal): AsyncGenerator<StreamItem> {
    const begun = await unlessAborted(this.#feed.start(), signal);
    if (begun === undefined) throw signal.reason;
    const { log, replaced } = this.#feed;
    this.#place.within(this.#feed.executionId);
    if (await this.#wasSentBack()) yield this.#place.sentBack();
    // Output that is replaced by what this reader has read in another process, and the feed has not, is still to come.
    await this.#ahead.read(this.#feed.pages, { offset: this.#feed.offset, step: this.#place.step }, this.#place.offset);
    let position = log.first;
    const joinedAt = log.next;
    yield* this.#record(begun);
    for (;;) {
      if (position < log.first) {
        // The log has dropped entries that this reader has not taken: the record holds all of them but the live output.
        position = log.first;
        yield this.#place.gap();
      }
      if (position === joinedAt && this.#feed.status !== undefined) yield* this.#place.status(this.#feed.status);
      const entry = log.at(position);
      if (entry === undefined) {
        // A promise that stays open for as long as the reader would keep every wait in memory.
        await log.bell.next(signal);
        signal.throwIfAborted();
        continue;
      }
      position += 1;
      if (entry.type === 'sent_back') {
        this.beginsAgain = true;
        return;
      }
      this.#place.within(this.#feed.executionId);
      yield* this.#upTo(entry);
      if (entry.type === 'end' && this.#from.ended === tagOf(entry.executionId)) return;
      yield* this.#place.take(entry, hasOutput(entry) ? (replaced.offsetOf(entry.of) ?? this.#ahead.offsetOf(entry.of)) : undefined);
      if (entry.type === 'end') return;
    }
  }

  /** Yields what the record has before an entry of it. */
  async *#upTo(entry: FeedEntry): AsyncGenerator<StreamItem> {
    const until = placeBefore(entry);
    if (until === undefined || !this.#place.isBefore(until)) return;
    yield* this.#record(until);
    if (!this.#place.isBefore(until)) return;
    throw new LonghaulError('internal', `The record of run "${this.#runId}" ends before a place that was read already`);
  }

  /** Yields the record up to a place. */
  async *#record(until: Partial<RecordPlace>): AsyncGenerator<StreamItem> {
    while (this.#place.isBefore(until)) {
      const at = { offset: this.#place.offset, step: this.#place.step };
      const stretch = await this.#feed.pages.shared(at);
      const entries = recordEntries(at, stretch);
      for (const entry of entries) {
        if (entry.type === 'event' && entry.offset >= this.#feed.began.offset) this.#ahead.recorded(entry.offset, entry.event);
        yield* this.#place.take(entry);
      }
      if (entries.length === 0) return;
    }
  }

  /** True if `retry` has sent the run back to a step before the place of the cursor, or to one beside it. */
  async #wasSentBack(): Promise<boolean> {
    const { execution, response, step } = this.#from;
    if (execution === tagOf(this.#feed.executionId)) return false;
    if (execution !== undefined) {
      const { ids, isComplete } = await this.#feed.executions();
      if (ids.some((id) => tagOf(id) === execution)) return false;
      if (isComplete) return true;
    }
    if (response === undefined) return false;
    try {
      const { events } = await this.#feed.pages.shared({ offset: response.offset, step });
      const [found] = events;
      return found === undefined || !isResponse(found) || tagOf(found.id) !== response.tag;
    } catch (error) {
      // The events behind the cursor may still be there.
      if (errorCode(error) === 'history_removed') return false;
      throw error;
    }
  }
}

function hasOutput(entry: FeedEntry): entry is FeedEntry & { type: 'attempt' | 'delta' } {
  return entry.type === 'attempt' || entry.type === 'delta';
}

/** Returns the place that a reader must have reached to take an entry. */
function placeBefore(entry: FeedEntry): Partial<RecordPlace> | undefined {
  if (entry.type === 'event') return { offset: entry.offset };
  return entry.type === 'step' ? { step: entry.index } : undefined;
}
