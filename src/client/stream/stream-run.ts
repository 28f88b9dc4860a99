import { defined } from '../../core/domain/json.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { endsModelCall, type Event, isResponse } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import { isEarlierAttempt, type StreamedAttempt } from '../../core/domain/stream.ts';
import { requireKnown } from '../../define/option-checks.ts';
import { unlessAborted } from '../../streams/waits.ts';
import {
  beginning,
  cursorAt,
  oneByOne,
  placeOf,
  placeText,
  type StreamItem,
  type StreamItemContent,
  type StreamPlace,
  tagOf,
} from './stream-item.ts';
import { type FeedEntry, recordEntries, type RecordPlace, ReplacedOutput } from './record-pages.ts';
import type { RunFeed } from './run-feed.ts';
import type { RunFeeds } from './run-feeds.ts';

/** The options of a stream. */
export interface StreamOptions {
  /** The stream begins after the item with this cursor. Default: the beginning of the run. */
  cursor?: string;
  /** Ends the stream: the iterator throws the signal's reason. */
  signal?: AbortSignal;
}

/** Yields the items of a run's stream from a cursor on, until the run has ended. Throws `invalid_cursor` and the errors of reading. */
export function streamRun(feeds: Pick<RunFeeds, 'follow'>, runId: string, options: StreamOptions): AsyncGenerator<StreamItem> {
  return oneByOne(streamTogether(feeds, runId, options));
}

/** Yields the items of `streamRun` in lists of those available at the same time. Readers at the same place get the same list. */
export async function* streamTogether(
  feeds: Pick<RunFeeds, 'follow'>,
  runId: string,
  options: StreamOptions,
): AsyncGenerator<readonly StreamItem[]> {
  requireKnown('"stream"', options, { cursor: true, signal: true });
  const { cursor, signal = new AbortController().signal } = options;
  let from = cursor === undefined ? beginning() : placeOf(runId, cursor);
  signal.throwIfAborted();
  for (;;) {
    const { feed, release } = feeds.follow(runId);
    const reader = new StreamReader(runId, feed, from);
    try {
      // Reading the record needs a worker or takes seconds: a reader that has all of it does not wait for that.
      if (from.ended !== undefined && (await unlessAborted(feed.hasEndedWith(from.ended), signal))) return;
      for await (const items of reader.lists(signal)) {
        signal.throwIfAborted();
        yield items;
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
  /** True if the run was sent back to an earlier step while it was read: another feed continues. */
  beginsAgain = false;
  /** Knows the events that this reader has read ahead of the feed: a page may hold more than there was when the feed began. */
  readonly #ahead = new ReplacedOutput();
  /** The offset after the last of these events. */
  #aheadUntil = 0;
  /** The index of the next log entry, and the index at which this reader joined. */
  #position = 0;
  #joinedAt = 0;

  constructor(runId: string, feed: RunFeed, from: StreamPlace) {
    this.#runId = runId;
    this.#feed = feed;
    this.#from = from;
    this.#place = new PlaceInStream(runId, { ...from, live: new Map(from.live) });
  }

  get place(): StreamPlace {
    return this.#place.place;
  }

  /** Yields the items in lists. Throws the signal's reason, also while waiting for the next one. */
  async *lists(signal: AbortSignal): AsyncGenerator<readonly StreamItem[]> {
    const begun = await unlessAborted(this.#feed.start(), signal);
    if (begun === undefined) throw signal.reason;
    const { log } = this.#feed;
    this.#place.within(this.#feed.executionId);
    if (await this.#wasSentBack()) yield [this.#place.sentBack()];
    // The feed may still bring output that was replaced by what this reader has read in another process.
    await this.#ahead.read(this.#feed.pages, { offset: this.#feed.offset, step: this.#place.step }, this.#place.offset);
    this.#aheadUntil = this.#place.offset;
    this.#position = log.first;
    this.#joinedAt = log.next;
    yield* this.#record(begun);
    for (;;) {
      const items = this.#next();
      if (items.length > 0) yield items;
      const entry = log.at(this.#position);
      if (entry === undefined) {
        // One promise for the reader's whole lifetime would keep every wait in memory.
        if (items.length === 0) await log.bell.next(signal);
        signal.throwIfAborted();
        continue;
      }
      if (this.#isTakenTogether(entry)) continue;
      this.#position += 1;
      if (entry.type === 'sent_back') {
        this.beginsAgain = true;
        return;
      }
      this.#place.within(this.#feed.executionId);
      yield* this.#upTo(entry);
      if (entry.type === 'end' && this.#from.ended === tagOf(entry.executionId)) return;
      const taken = this.#take(entry);
      if (taken.length > 0) yield taken;
      if (entry.type === 'end') return;
    }
  }

  /** Returns the items of the next log entries that can be taken together. */
  #next(): readonly StreamItem[] {
    const { log, shared, executionId } = this.#feed;
    if (this.#position >= log.next && this.#position > this.#joinedAt) return [];
    // While a reader is ahead of the log, what it knows decides which output is relevant to it.
    if (this.#aheadUntil > this.#feed.offset) return this.#takeTogether();
    const joins = this.#position <= this.#joinedAt ? this.#joinedAt : 0;
    const key = [this.#position, log.first, log.next, joins, executionId, placeText(this.#place.place)].join(' ');
    const known = shared.get(key);
    if (known === undefined) {
      const items = this.#takeTogether();
      // A gap leaves the reader in place, and a status may lead back to it: another reader would get the items twice, with the same cursor.
      const isPassed = items.length > 0 && items.every(({ type }) => type !== 'gap' && type !== 'status');
      if (isPassed) shared.set(key, { items, position: this.#position, place: this.place });
      return items;
    }
    this.#position = known.position;
    this.#place.continueAt(known.place, executionId);
    return known.items;
  }

  #takeTogether(): StreamItem[] {
    const { log } = this.#feed;
    const items: StreamItem[] = [];
    if (this.#position < log.first) {
      // The log has dropped entries that this reader has not taken: the record holds all of them except live output.
      this.#position = log.first;
      items.push(this.#place.gap());
    }
    this.#place.within(this.#feed.executionId);
    for (;;) {
      if (this.#position === this.#joinedAt && this.#feed.status !== undefined) items.push(...this.#place.status(this.#feed.status));
      const entry = log.at(this.#position);
      if (entry === undefined || items.length >= TOGETHER || !this.#isTakenTogether(entry)) return items;
      this.#position += 1;
      items.push(...this.#take(entry));
    }
  }

  /** True for an entry that does not end the stream, and before which nothing is missing. */
  #isTakenTogether(entry: FeedEntry): boolean {
    if (entry.type === 'sent_back' || entry.type === 'failed' || entry.type === 'end') return false;
    const until = placeBefore(entry);
    return until === undefined || !this.#place.isBefore(until);
  }

  #take(entry: FeedEntry): StreamItem[] {
    const { replaced } = this.#feed;
    const isOutput = entry.type === 'attempt' || entry.type === 'delta';
    return [...this.#place.take(entry, isOutput ? (replaced.offsetOf(entry.of) ?? this.#ahead.offsetOf(entry.of)) : undefined)];
  }

  /** Yields the records before an entry. */
  async *#upTo(entry: FeedEntry): AsyncGenerator<readonly StreamItem[]> {
    const until = placeBefore(entry);
    if (until === undefined || !this.#place.isBefore(until)) return;
    yield* this.#record(until);
    if (!this.#place.isBefore(until)) return;
    throw new LonghaulError('internal', `The record of run "${this.#runId}" ends before a place that was read already`);
  }

  /** Yields the record up to a place, a page at a time. */
  async *#record(until: Partial<RecordPlace>): AsyncGenerator<readonly StreamItem[]> {
    while (this.#place.isBefore(until)) {
      const at = { offset: this.#place.offset, step: this.#place.step };
      const stretch = await this.#feed.pages.shared(at);
      const entries = recordEntries(at, stretch);
      for (const entry of entries) if (entry.type === 'event') this.#noteAhead(entry);
      const items = entries.flatMap((entry) => [...this.#place.take(entry)]);
      if (items.length > 0) yield items;
      if (entries.length === 0) return;
    }
  }

  #noteAhead({ offset, event }: FeedEntry & { type: 'event' }): void {
    if (offset < this.#feed.began.offset) return;
    this.#ahead.recorded(offset, event);
    this.#aheadUntil = Math.max(this.#aheadUntil, offset + 1);
  }

  /** True if `retry` has sent the run back to a step before the place of the cursor, or to another answer at that place. */
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
      // The events after the cursor may still be there.
      if (errorCode(error) === 'history_removed') return false;
      throw error;
    }
  }
}

/** The most items of a list: bounds what a stalled reader keeps in memory. */
const TOGETHER = 100;

/** Returns the place that a reader must have reached to take an entry. */
function placeBefore(entry: FeedEntry): Partial<RecordPlace> | undefined {
  if (entry.type === 'event') return { offset: entry.offset };
  return entry.type === 'step' ? { step: entry.index } : undefined;
}

/** The most attempts whose live output a reader tracks. */
const MOST_LIVE = 1_000;

/** Moves a reader's place and makes its items: exactly those after the place, each once. */
class PlaceInStream {
  readonly #runId: string;
  #at: StreamPlace;
  #executionId: string | undefined;

  constructor(runId: string, place: StreamPlace) {
    this.#runId = runId;
    this.#at = place;
  }

  get offset(): number {
    return this.#at.offset;
  }

  get step(): number {
    return this.#at.step;
  }

  /** True if the reader has not reached this place yet. */
  isBefore({ offset = 0, step = 0 }: { offset?: number; step?: number }): boolean {
    return this.#at.offset < offset || this.#at.step < step;
  }

  /** Takes an entry, and yields its items for this reader. `replacedAt`: the offset of the event that has replaced its output. */
  *take(entry: FeedEntry, replacedAt?: number): Generator<StreamItem> {
    switch (entry.type) {
      case 'event':
        if (entry.offset === this.#at.offset) yield* this.#event(entry);
        return;
      case 'step':
        if (entry.index !== this.#at.step) return;
        this.#at.step += 1;
        yield this.#item({ type: 'step', step: entry.step });
        return;
      case 'attempt':
        yield* this.#attempt(entry, this.#isPast(replacedAt));
        return;
      case 'delta':
        if (!this.#isPast(replacedAt)) yield* this.#delta(entry);
        return;
      case 'gap':
        if (entry.offset >= this.#at.offset) yield this.gap();
        return;
      case 'status':
        if (entry.offset >= this.#at.offset) yield* this.status(entry.status);
        return;
      case 'end':
        this.#at.ended = tagOf(entry.executionId);
        this.#at.live.clear();
        yield this.#item({ type: 'end', result: entry.result });
        return;
      case 'sent_back':
        return;
      case 'failed':
        throw entry.error;
    }
  }

  /** Discards what was read since the step to which the run was sent back. */
  sentBack(): StreamItem {
    Object.assign(this.#at, { offset: 0, step: 0 });
    this.#at.live.clear();
    delete this.#at.response;
    delete this.#at.ended;
    return this.#item({ type: 'reset', step: 1, attempt: 1, offset: 0 });
  }

  /** Returns a copy of the place: another reader continues from there. */
  get place(): StreamPlace {
    return { ...this.#at, live: new Map(this.#at.live) };
  }

  /** Moves to the place of another reader that was at the same place. */
  continueAt(place: StreamPlace, executionId: string): void {
    this.#at = { ...place, live: new Map(place.live) };
    this.#executionId = executionId;
  }

  /** Sets the execution that is read. */
  within(executionId: string): void {
    if (executionId === this.#executionId) return;
    this.#executionId = executionId;
    this.#at.execution = tagOf(executionId);
  }

  /** Records that deltas were missed. */
  gap(): StreamItem {
    return this.#item({ type: 'gap' });
  }

  /** Yields the status of the run if it has changed. */
  *status(status: RunStatus): Generator<StreamItem> {
    if (status === this.#at.status) return;
    this.#at.status = status;
    yield this.#item({ type: 'status', status });
  }

  /** True if the reader has read the event at this offset, so output that it replaced is obsolete. */
  #isPast(replacedAt: number | undefined): boolean {
    return replacedAt !== undefined && replacedAt < this.#at.offset;
  }

  *#event({ offset, event }: FeedEntry & { type: 'event' }): Generator<StreamItem> {
    yield* this.#takeBackOthers(event);
    this.#at.offset += 1;
    if (isResponse(event)) this.#at.response = { offset, tag: tagOf(event.id) };
    this.#at.live.delete(tagOf(event.id));
    for (const item of event.content) if (item.type === 'tool_result') this.#forgetCall(tagOf(item.toolCallId));
    yield this.#item({ type: 'event', offset, event });
  }

  /** Discards the output of attempts that an event ends without holding it: another attempt, without live output, has answered. */
  *#takeBackOthers(event: Event): Generator<StreamItem> {
    const { id, step: note } = event;
    const ofAgent = note === undefined && endsModelCall(event);
    const callId = note !== undefined && note.type !== 'start' ? note.at : undefined;
    if (!ofAgent && callId === undefined) return;
    const call = callId === undefined ? '' : tagOf(callId);
    const others = [...this.#at.live.values()].filter((seen) => seen.call === call);
    const last = others.at(-1);
    if (last === undefined || this.#at.live.has(tagOf(id)) || !others.some(({ next }) => next > 0)) return;
    const attempt = Math.max(...others.map((seen) => seen.attempt)) + 1;
    this.#forgetCall(call);
    // A reader that continues after the reset must not get it again.
    this.#at.live.set(tagOf(id), { ...last, next: 0, attempt });
    yield this.#item({ type: 'reset', step: this.#at.step + 1, attempt, ...defined({ callId }) });
  }

  *#attempt({ of, step }: FeedEntry & { type: 'attempt' }, isPast: boolean): Generator<StreamItem> {
    if (this.#at.live.has(tagsOf(of).own) || this.#isOlder(of)) return;
    // The answer of this attempt was already read. The previous attempt is over too, unless it belongs to a later execution.
    if (isPast && ![...this.#at.live.values()].some(({ execution }) => execution === tagsOf(of).execution)) return;
    const replaces = this.#forgetCall(tagsOf(of).call);
    if (!isPast) this.#see(of, 0);
    if (replaces || (of.attempt > 1 && !isPast)) yield this.#reset(of, step);
  }

  *#delta({ of, step, index, delta }: FeedEntry & { type: 'delta' }): Generator<StreamItem> {
    if (this.#isOlder(of)) return;
    const seen = this.#at.live.get(tagsOf(of).own);
    if (seen === undefined && this.#forgetCall(tagsOf(of).call)) {
      this.#see(of, 0);
      yield this.#reset(of, step);
    }
    const next = seen?.next ?? 0;
    if (index < next) return;
    if (index > next) {
      this.#see(of, index);
      yield this.gap();
    }
    this.#see(of, index + 1);
    const { attempt, eventId, callId } = of;
    yield this.#item({ type: 'delta', step, attempt, eventId, ...defined({ callId }), delta });
  }

  /** True if the reader has seen a later attempt of the call. */
  #isOlder(of: StreamedAttempt): boolean {
    const call = tagsOf(of).call;
    const execution = tagsOf(of).execution;
    return [...this.#at.live.values()].some((seen) => seen.call === call && seen.execution === execution && isEarlierAttempt(of, seen));
  }

  #reset({ attempt, callId }: StreamedAttempt, step: number): StreamItem {
    return this.#item({ type: 'reset', step, attempt, ...defined({ callId }) });
  }

  /** Forgets the live output of a call. True if there was any. */
  #forgetCall(call: string): boolean {
    const tags = [...this.#at.live].filter(([, seen]) => seen.call === call).map(([tag]) => tag);
    for (const tag of tags) this.#at.live.delete(tag);
    return tags.length > 0;
  }

  #see(of: StreamedAttempt, next: number): void {
    const { live } = this.#at;
    const tag = tagsOf(of).own;
    live.delete(tag);
    live.set(tag, { next, call: tagsOf(of).call, execution: tagsOf(of).execution, activity: of.activity, attempt: of.attempt });
    const [oldest] = live.keys();
    if (live.size > MOST_LIVE && oldest !== undefined) live.delete(oldest);
  }

  #item(content: StreamItemContent): StreamItem {
    return { ...content, cursor: cursorAt(this.#runId, this.#at) };
  }
}

/** The tags that identify an attempt in cursors. */
interface AttemptTags {
  /** The tag of the attempt: for a model call, the tag of the event that will hold its answer. */
  own: string;
  /** The tag of its call; empty for an agent's model call, since there is one at a time. */
  call: string;
  execution: string;
}

function tagsOf({ eventId, callId, through, attempt, executionId }: StreamedAttempt): AttemptTags {
  return {
    own: callId === undefined || through === undefined ? tagOf(eventId) : tagOf(eventId, callId, `${attempt}`),
    call: callId === undefined ? '' : tagOf(callId),
    execution: tagOf(executionId),
  };
}
