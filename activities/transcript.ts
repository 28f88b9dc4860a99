import { LRUCache } from 'lru-cache';
import type { ToolResult } from '../src/domain/content.ts';
import { LonghaulError } from '../src/domain/error.ts';
import type { ConversationEvent } from '../src/domain/model.ts';

/** An event as the cache keeps it: what a request needs, and the id that proves it. */
export interface TranscriptEvent extends ConversationEvent {
  id: string;
}

/** A page of the run's events, as its `transcript` query answers. */
export interface TranscriptPage {
  /** Offset of the first event: `from` of the question, or 0 where the known id is not the run's. */
  from: number;
  events: TranscriptEvent[];
}

/** Asks the run for the events from `from` on; `knownId` is the id of the event before it. */
export type FetchTranscript = (from: number, knownId: string | null) => Promise<TranscriptPage>;

/** Which conversation is wanted: the events before `through`, the last of which has `lastEventId`. */
export interface TranscriptReference {
  through: number;
  lastEventId: string;
  /** The last event is a batch of these tool results. */
  results?: string[] | undefined;
}

interface Transcript {
  events: TranscriptEvent[];
  /** Tool results of this process by id, with the event that asked for them. */
  results: Map<string, { eventId: string; result: ToolResult }>;
  /** Of the events alone. */
  eventBytes: number;
  bytes: number;
}

/**
 * The conversations of the runs that this process works for, so that neither model nor tool activities need them
 * in their input. The cache decides how a conversation is assembled, never what it says: an entry belongs to one
 * execution (`namespace/workflowId/runId`, since after a reset counters repeat with other content), and is used
 * only where the id of its last event is the one that the workflow names.
 */
export class TranscriptCache {
  readonly #transcripts: LRUCache<string, Transcript>;
  /** One question at a time for each run: the server buffers few queries. */
  readonly #loading = new Map<string, Promise<unknown>>();

  /** `maxBytes` bounds the sum of what is kept, in characters of JSON. */
  constructor(maxBytes: number) {
    this.#transcripts = new LRUCache({ maxSize: maxBytes, sizeCalculation: (transcript) => Math.max(1, transcript.bytes) });
  }

  /** The conversation, from memory where possible, asking for no more than what is missing. */
  async load(key: string, reference: TranscriptReference, fetch: FetchTranscript): Promise<TranscriptEvent[]> {
    while (this.#loading.has(key)) await this.#loading.get(key)?.catch(() => undefined);
    const loading = this.#assemble(key, reference, fetch);
    this.#loading.set(key, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(key);
    }
  }

  /** Remembers the response that this process has just received. */
  addResponse(key: string, through: number, event: TranscriptEvent): void {
    const known = this.#transcripts.get(key)?.events ?? [];
    if (known.length >= through) this.#store(key, [...known.slice(0, through), event]);
  }

  /** Remembers a tool result that this process has just produced, until the workflow says where it belongs. */
  addResult(key: string, id: string, eventId: string, result: ToolResult): void {
    const transcript = this.#transcripts.get(key);
    if (transcript === undefined) return;
    transcript.results.set(id, { eventId, result });
    this.#store(key, transcript.events);
  }

  /** Forgets a run, or everything. */
  evict(key?: string): void {
    if (key === undefined) this.#transcripts.clear();
    else this.#transcripts.delete(key);
  }

  async #assemble(key: string, reference: TranscriptReference, fetch: FetchTranscript): Promise<TranscriptEvent[]> {
    const { through, lastEventId } = reference;
    let events = this.#withResults(key, reference) ?? this.#transcripts.get(key)?.events ?? [];
    if (events[through - 1]?.id === lastEventId) return this.#keep(key, events, through);
    events = events.slice(0, through - 1);
    while (events.length < through) {
      const page = await fetch(events.length, events.at(-1)?.id ?? null);
      if (page.events.length === 0) break;
      events = [...events.slice(0, page.from), ...page.events];
    }
    if (events[through - 1]?.id === lastEventId) return this.#keep(key, events, through);
    throw new LonghaulError('transcript_unavailable', `Event ${through - 1} of the run is not "${lastEventId}"`);
  }

  /** The cached events with the batch of results at their end, where this process produced all of them. */
  #withResults(key: string, { through, lastEventId, results }: TranscriptReference): TranscriptEvent[] | undefined {
    const transcript = this.#transcripts.get(key);
    if (transcript === undefined || results === undefined) return undefined;
    const before = transcript.events[through - 2];
    const content: ToolResult[] = [];
    for (const id of results) {
      const known = transcript.results.get(id);
      if (before === undefined || known?.eventId !== before.id) return undefined;
      content.push(known.result);
    }
    return [...transcript.events.slice(0, through - 1), { id: lastEventId, author: before?.author ?? '', content }];
  }

  #keep(key: string, events: TranscriptEvent[], through: number): TranscriptEvent[] {
    this.#transcripts.get(key)?.results.clear();
    this.#store(key, events);
    return events.slice(0, through);
  }

  #store(key: string, events: TranscriptEvent[]): void {
    const known = this.#transcripts.get(key);
    const results: Transcript['results'] = known?.results ?? new Map();
    const eventBytes = bytesOfEvents(events, known);
    const resultBytes = [...results.values()].reduce((sum, { result }) => sum + sizeOf(result), 0);
    this.#transcripts.set(key, { events, results, eventBytes, bytes: eventBytes + resultBytes });
  }
}

/** Counts only what was appended, where something was: a long run must not be counted anew at every call. */
function bytesOfEvents(events: TranscriptEvent[], known: Transcript | undefined): number {
  const counted = known?.events.length ?? 0;
  const isAppended = counted > 0 && events[counted - 1] === known?.events[counted - 1];
  return events.slice(isAppended ? counted : 0).reduce((sum, event) => sum + sizeOf(event), isAppended ? (known?.eventBytes ?? 0) : 0);
}

const sizes = new WeakMap<object, number>();

/** Characters of JSON, counted once for each object. */
function sizeOf(value: object): number {
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const size = JSON.stringify(value).length;
  sizes.set(value, size);
  return size;
}
