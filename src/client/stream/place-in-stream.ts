import { endsModelCall, isResponse } from '../../core/domain/record/run-record.ts';
import type { Event } from '../../core/domain/record/event.ts';
import type { RunStatus } from '../../core/domain/run/status.ts';
import { isBefore, type StreamedAttempt } from '../../core/domain/stream/stream-entry.ts';
import { cursorAt, type StreamPlace, tagOf } from './cursor.ts';
import type { FeedEntry } from './feed-log.ts';
import type { StreamItem, StreamItemContent } from './stream-item.ts';

/** The most attempts of calls whose live output a reader keeps apart. */
const MOST_LIVE = 1_000;

/** Moves the place of one reader, and makes its items: exactly those behind the place, each once. */
export class PlaceInStream {
  readonly #runId: string;
  readonly #at: StreamPlace;
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

  /** True if the place is behind what the reader has read. */
  isBefore({ offset = 0, step = 0 }: { offset?: number; step?: number }): boolean {
    return this.#at.offset < offset || this.#at.step < step;
  }

  /** Takes an entry, and yields the items that it means for this reader. `replacedAt`: offset of the event that has replaced its output. */
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

  /** Takes back what was read of a run that has been sent back to an earlier step since. */
  sentBack(): StreamItem {
    Object.assign(this.#at, { offset: 0, step: 0 });
    this.#at.live.clear();
    delete this.#at.response;
    delete this.#at.ended;
    return this.#item({ type: 'reset', step: 1, attempt: 1, offset: 0 });
  }

  /** Returns a copy of the place: another reader goes on from there. */
  get place(): StreamPlace {
    return { ...this.#at, live: new Map(this.#at.live) };
  }

  /** Notes the execution that is read. */
  within(executionId: string): void {
    if (executionId === this.#executionId) return;
    this.#executionId = executionId;
    this.#at.execution = tagOf(executionId);
  }

  /** Notes that deltas were missed. */
  gap(): StreamItem {
    return this.#item({ type: 'gap' });
  }

  /** Notes the status of the run, if it has changed. */
  *status(status: RunStatus): Generator<StreamItem> {
    if (status === this.#at.status) return;
    this.#at.status = status;
    yield this.#item({ type: 'status', status });
  }

  /** True if the reader has read the event at that offset: the output that it has replaced means nothing to it any more. */
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

  /** Takes back the output of attempts that the event ends without holding it: another attempt has answered, of which nothing was carried. */
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
    // So that a reader who goes on behind the reset does not get it again.
    this.#at.live.set(tagOf(id), { ...last, next: 0, attempt });
    yield this.#item({ type: 'reset', step: this.#at.step + 1, attempt, ...(callId === undefined ? {} : { callId }) });
  }

  *#attempt({ of, step }: FeedEntry & { type: 'attempt' }, isPast: boolean): Generator<StreamItem> {
    if (this.#at.live.has(tagsOf(of).own) || this.#isOlder(of)) return;
    // The answer of this attempt has been read. The one before it is over, too, unless it belongs to a later execution.
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
    yield this.#item({ type: 'delta', step, attempt, eventId, ...(callId === undefined ? {} : { callId }), delta });
  }

  /** True if the reader has seen a later attempt of the call. */
  #isOlder(of: StreamedAttempt): boolean {
    const call = tagsOf(of).call;
    const execution = tagsOf(of).execution;
    return [...this.#at.live.values()].some((seen) => seen.call === call && seen.execution === execution && isBefore(of, seen));
  }

  #reset({ attempt, callId }: StreamedAttempt, step: number): StreamItem {
    return this.#item({ type: 'reset', step, attempt, ...(callId === undefined ? {} : { callId }) });
  }

  /** Forgets the live output of a call. True if there was some. */
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

/** The tags by which cursors name an attempt. */
interface AttemptTags {
  /** The tag of the attempt: for a model call, that of the event that will hold its answer. */
  own: string;
  /** The tag of its call; empty for the model call of an agent, of which there is one at a time. */
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
