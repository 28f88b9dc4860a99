import { LRUCache } from 'lru-cache';
import type { ToolResult } from '../../src/core/domain/content.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined } from '../../src/core/domain/json.ts';
import { emptyWindow, extendWindow, type Folded, type Window, type WindowEvent, windowEventBytes } from '../../src/core/domain/window.ts';
import { type NewEvents, type OfRun, QUERIES, type TranscriptAnswer, type TranscriptQuestion } from '../../src/core/protocol.ts';
import { queryRun, type RunKey, runKey } from './query-run.ts';

/** The conversations of runs, for the calls of a worker. */
export interface Conversations {
  /** Returns the conversation that a call refers to. Throws `transcript_unavailable` if the run has a different one. */
  window(run: OfRun, reference: TranscriptReference): Promise<Window>;
  /** Returns one event of it; undefined if the run does not have it. The run may have recorded more since. */
  event(run: OfRun, wanted: Pick<WindowEvent, 'offset' | 'id'>): Promise<WindowEvent | undefined>;
  /** Adds the response that a call has just received, and the events recorded right before it, after the first `through` events. */
  addResponse(run: OfRun, through: number, ...events: readonly Folded[]): void;
  /** Adds the result that a call has just produced. */
  addResult(run: OfRun, id: string, eventId: string, result: ToolResult): void;
}

/** Conversations with a cache: the worker keeps the known parts, and queries the run for the rest. */
export class CachedConversations implements Conversations {
  readonly #cache: TranscriptCache;

  constructor(cache: TranscriptCache) {
    this.#cache = cache;
  }

  window(run: OfRun, reference: TranscriptReference): Promise<Window> {
    return this.#cache.load(runKey(run), reference, fetchTranscript(run));
  }

  event(run: OfRun, wanted: Pick<WindowEvent, 'offset' | 'id'>): Promise<WindowEvent | undefined> {
    return this.#cache.event(runKey(run), wanted, fetchTranscript(run));
  }

  addResponse(run: OfRun, through: number, ...events: readonly Folded[]): void {
    this.#cache.addResponse(runKey(run), through, ...events);
  }

  addResult(run: OfRun, id: string, eventId: string, result: ToolResult): void {
    this.#cache.addResult(runKey(run), id, eventId, result);
  }
}

/** Queries the run for the missing events. */
export type FetchTranscript = (question: TranscriptQuestion) => Promise<TranscriptAnswer>;

/** Asks the run for the part of the conversation that this process lacks. */
function fetchTranscript(run: OfRun): FetchTranscript {
  return (question) => queryRun<TranscriptAnswer>(run, QUERIES.transcript, question);
}

/** The requested conversation: the window after `through` events, the last of which has `lastEventId`. */
export interface TranscriptReference {
  through: number;
  lastEventId: string;
  /** Set if the last event is a batch of these tool results. */
  results?: string[] | undefined;
  /** The number of events before it and since the last response that are not in the window. */
  skipped?: number | undefined;
  /** The digest of the events since the last response, if the workflow has passed them on. */
  news?: string | undefined;
}

interface Transcript {
  /** A window that the workflow has referred to. */
  confirmed: Window;
  /**
   * The confirmed window with the response that this process has received since. The workflow may have recorded the
   * response of another attempt.
   */
  expected: Window;
  /** Tool results of this process by id, with the id of the event that called the tools. */
  results: Map<string, { eventId: string; result: ToolResult }>;
  /** The events that the workflow has passed on for its next model call. */
  news?: NewEvents;
  /** Bytes of the results that were added since the size of the entry was computed. */
  unweighed?: number;
}

/**
 * Bytes of results that may be added before the size of an entry is recomputed: for each small result that would cost more than the call.
 */
const UNWEIGHED_BYTES = 50_000;

/**
 * Conversations of the runs that this process works for, so that model and tool activities do not need them in their input. The cache
 * affects how a conversation is assembled, never its content: an entry belongs to one execution (`namespace/workflowId/runId`, because
 * counters repeat with other content after a reset), and is only used if its last event has the id that the workflow names. The next
 * execution of a run takes over the previous one's entry, under the same condition.
 */
export class TranscriptCache {
  readonly #transcripts: LRUCache<string, Transcript>;
  /** The execution of each chain that has an entry. */
  readonly #executions = new Map<string, string>();
  /** One query at a time for each run: the server buffers few queries. */
  readonly #loading = new Map<string, Promise<unknown>>();

  /** `maxBytes` bounds the size of all entries together, in bytes of JSON. */
  constructor(maxBytes: number) {
    this.#transcripts = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: sizeOf,
      dispose: (_, execution, reason) => {
        if (reason !== 'set') this.#forget(execution);
      },
    });
  }

  /** Returns the conversation, from memory if possible. Queries only the missing events. */
  load(key: RunKey, reference: TranscriptReference, fetch: FetchTranscript): Promise<Window> {
    return this.#oneAtATime(key, () => this.#assemble(key, reference, fetch));
  }

  /**
   * Returns one event of the conversation, from memory if possible; undefined if the run does not have it. The run may
   * have recorded more since: decisions, results of other calls.
   */
  event(key: RunKey, wanted: Pick<WindowEvent, 'offset' | 'id'>, fetch: FetchTranscript): Promise<WindowEvent | undefined> {
    return this.#oneAtATime(key, () => this.#find(key, wanted, fetch));
  }

  /** Keeps the response that this process has just received, and the events recorded right before it, after the first `through` events. */
  addResponse(key: RunKey, through: number, ...events: readonly Folded[]): void {
    const known = this.#get(key);
    if (known?.confirmed.through === through) this.#set(key, { ...known, expected: events.reduce(extendWindow, known.confirmed) });
  }

  /** Keeps events that the workflow passes on, until a model call refers to them. */
  addNews(key: RunKey, news: NewEvents): void {
    const known = this.#get(key) ?? { confirmed: emptyWindow(), expected: emptyWindow(), results: new Map() };
    this.#set(key, { ...known, news });
  }

  /** Keeps a tool result that this process has just produced, until the workflow refers to its batch. */
  addResult(key: RunKey, id: string, eventId: string, result: ToolResult): void {
    const known = this.#get(key);
    if (known === undefined) return;
    known.results.set(id, { eventId, result });
    known.unweighed = (known.unweighed ?? 0) + resultBytes(result);
    if (known.unweighed > UNWEIGHED_BYTES) this.#set(key, known);
  }

  /** Keeps the current conversation of a run. */
  keep(key: RunKey, window: Window): void {
    this.#set(key, { confirmed: window, expected: window, results: new Map() });
  }

  /** Drops the conversation of a run that has ended. */
  forget({ chain }: RunKey): void {
    const execution = this.#executions.get(chain);
    if (execution !== undefined) this.#transcripts.delete(execution);
  }

  /** Removes all entries. */
  clear(): void {
    this.#transcripts.clear();
  }

  async #oneAtATime<Answer>({ execution }: RunKey, question: () => Promise<Answer>): Promise<Answer> {
    while (this.#loading.has(execution)) await this.#loading.get(execution)?.catch(() => undefined);
    const loading = question();
    this.#loading.set(execution, loading);
    try {
      return await loading;
    } finally {
      this.#loading.delete(execution);
    }
  }

  async #find(key: RunKey, wanted: Pick<WindowEvent, 'offset' | 'id'>, fetch: FetchTranscript): Promise<WindowEvent | undefined> {
    const known = this.#get(key);
    const windows = known === undefined ? [] : [known.expected, known.confirmed];
    const inMemory = windows.map((window) => eventOf(window, wanted)).find((event) => event !== undefined);
    const window = inMemory === undefined ? await askRun(windows, fetch) : undefined;
    const { results } = known ?? { results: new Map() };
    if (window !== undefined) this.#set(key, { confirmed: window, expected: window, results });
    else if (known !== undefined) this.#set(key, known);
    return inMemory ?? (window && eventOf(window, wanted));
  }

  async #assemble(key: RunKey, reference: TranscriptReference, fetch: FetchTranscript): Promise<Window> {
    const known = this.#get(key);
    const candidates =
      known === undefined ? [] : [withResults(known, reference), withNews(known, reference), known.expected, known.confirmed];
    const windows = candidates.filter((window) => window !== undefined);
    const window = windows.find((one) => isWanted(one, reference)) ?? (await askRun(windows, fetch));
    if (!isWanted(window, reference)) {
      const { through, lastEventId } = reference;
      throw new LonghaulError('transcript_unavailable', `Event ${through - 1} of the run is not "${lastEventId}"`);
    }
    // Results of calls that still run belong to a later batch.
    const results = [...(known?.results ?? [])].filter(([, { eventId }]) => eventId === window.lastEventId);
    this.#set(key, { confirmed: window, expected: window, results: new Map(results) });
    return window;
  }

  #get(key: RunKey): Transcript | undefined {
    const known = this.#transcripts.get(key.execution);
    const before = this.#executions.get(key.chain);
    if (known !== undefined || before === undefined) return known;
    const moved = this.#transcripts.get(before);
    this.#transcripts.delete(before);
    if (moved !== undefined) this.#set(key, moved);
    return moved;
  }

  #set({ chain, execution }: RunKey, transcript: Transcript): void {
    transcript.unweighed = 0;
    this.#transcripts.set(execution, transcript);
    if (this.#transcripts.has(execution)) this.#executions.set(chain, execution);
  }

  #forget(execution: string): void {
    for (const [chain, known] of this.#executions) if (known === execution) this.#executions.delete(chain);
  }
}

function eventOf({ events }: Window, { offset, id }: Pick<WindowEvent, 'offset' | 'id'>): WindowEvent | undefined {
  return events.find((event) => event.offset === offset && event.id === id);
}

function isWanted(window: Window, { through, lastEventId }: TranscriptReference): boolean {
  return window.through === through && window.lastEventId === lastEventId;
}

/** Returns the expected window with the batch of results at its end, if this process produced all of them. */
function withResults({ expected, results }: Transcript, reference: TranscriptReference): Window | undefined {
  const { skipped = 0 } = reference;
  if (reference.results === undefined || expected.through !== reference.through - 1 - skipped) return undefined;
  const content: ToolResult[] = [];
  for (const id of reference.results) {
    const known = results.get(id);
    if (known?.eventId !== expected.lastEventId) return undefined;
    content.push(known.result);
  }
  return extendWindow(
    { ...expected, through: expected.through + skipped },
    { id: reference.lastEventId, author: expected.events.at(-1)?.author ?? '', content },
  );
}

/** Returns a known window with the events that the workflow has passed on, if the model call refers to them. */
function withNews({ expected, confirmed, news }: Transcript, reference: TranscriptReference): Window | undefined {
  if (news === undefined || news.digest !== reference.news) return undefined;
  const { since, sinceEventId, events } = news;
  const base = [expected, confirmed, emptyWindow()].find(({ through, lastEventId }) => through === since && lastEventId === sinceEventId);
  return base && events.reduce(extendWindow, base);
}

/** Returns the run's window: a known one, extended by the missing events that the run returns. */
async function askRun(windows: Window[], fetch: FetchTranscript): Promise<Window> {
  const known = windows.map(({ through, lastEventId }) => ({ through, lastEventId }));
  let answer = await fetch({ known, from: 0 });
  const list = [...answer.events];
  while (list.length < answer.total && answer.events.length > 0) {
    answer = await fetch({ known, from: list.length });
    list.push(...answer.events);
  }
  if (answer.type === 'events') {
    const { since } = answer;
    return list.reduce(extendWindow, windows.find(({ through }) => through === since) ?? emptyWindow());
  }
  const events = list as WindowEvent[];
  const { through, lastEventId, usedCallIds } = answer;
  const bytes = events.reduce((sum, event) => sum + windowEventBytes(event), 0);
  return { events, through, lastEventId, bytes, ...defined({ usedCallIds }) };
}

/** Returns the size of an entry. Its windows share their events. */
function sizeOf({ expected, results, news }: Transcript): number {
  const ofNews = news === undefined ? 0 : jsonBytes(news.events);
  return Math.max(
    1,
    [...results.values()].reduce((sum, { result }) => sum + resultBytes(result), expected.bytes + ofNews),
  );
}

const sizes = new WeakMap<ToolResult, number>();

/** Returns the bytes of a result, computed once. */
function resultBytes(result: ToolResult): number {
  const bytes = sizes.get(result) ?? jsonBytes(result);
  sizes.set(result, bytes);
  return bytes;
}
