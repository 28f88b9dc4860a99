import type { Summary } from '../domain/activity-messages.ts';
import { summaryModelOf } from '../domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import { bytesBeyondText, type ContentItem, type ToolResult } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { isRecall } from '../domain/memory.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { notesOf } from '../domain/parts.ts';
import type { Compaction } from '../domain/record.ts';
import { jsonTextPrefix } from '../domain/text.ts';
import type { Spent } from '../domain/usage.ts';
import {
  evictedResult,
  extendWindow,
  isEvicted,
  isMessageOfUser,
  type Window,
  type WindowEvent,
  windowEventBytes,
  windowEventText,
  windowText,
} from '../domain/window.ts';
import type { Capability } from '../kernel/capability.ts';
import { isWindowFull, windowLimit, windowLimits } from '../kernel/continue-as-new.ts';
import { recordFailedCall, recordInterrupted, spend } from '../kernel/limits.ts';
import { endCancelled, endFailed, type NextStep } from '../kernel/next-step.ts';
import { points } from '../kernel/points.ts';
import type { Conversation, RunPorts } from '../kernel/ports.ts';
import { recordEvent, recordNotices, type RunState } from '../kernel/run-state.ts';
import { sessionOf } from '../domain/sessions.ts';

// Capability: a window that is kept within its limit.

export interface CompactionPorts extends RunPorts {
  summarize(request: SummaryRequest): Promise<SummaryOutcome>;
}

/** The part of the window to summarize: the events between two others (see `Compaction`). */
export interface SummaryRequest extends Conversation {
  head: number | null;
  tail: number | null;
  /** The number of events between them. */
  events: number;
  /** The maximum bytes of JSON of the summary's text. */
  maxBytes: number;
  /** The text is a title, not a summary. */
  purpose?: 'title';
}

export type SummaryOutcome =
  | ({ type: 'summary' } & Summary)
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse };

/** The fraction of the limit to which a full window is compacted, so that many steps pass before the next compaction. */
const GOAL = 0.5;

/** The fraction of the limit above which older events are summarized, if eviction alone leaves more. */
const ENOUGH = 0.75;

/** The fraction of the limit that the newest events of any kind may take in addition to a summary. */
const TAIL = 0.25;

/** The fraction of the limit that a summary may take, and the smallest budget of a summary. */
const SUMMARY = 0.125;
const LEAST_SUMMARY_BYTES = 200;

type PlannedEviction = ReturnType<typeof planEviction>;

/** Bytes of the event of a summary without its text. */
const SUMMARY_EVENT_BYTES = 100;

/**
 * Reduces a full window below its limit: drops recalled memories, evicts old tool results, then summarizes the older part of the
 * conversation. Each of the three is recorded as an event. Returns the end of the run if even that is not enough.
 */
async function compactWindow(state: RunState, ports: CompactionPorts): Promise<NextStep | undefined> {
  const limit = windowLimit(state) ?? Infinity;
  const isFull = windowText(state.window) > limit;
  const ended = isFull ? await compact(state, ports, limit, 'text') : undefined;
  if (ended !== undefined) return ended;
  // Media that count as few tokens can still be too large to be carried.
  const { bytes = Infinity } = windowLimits(state) ?? {};
  const hasMedia = windowText(state.window) < state.window.bytes;
  const without = hasMedia && state.window.bytes > bytes ? await compact(state, ports, bytes, 'bytes') : undefined;
  if (without !== undefined) return without;
  if (!isWindowFull(state)) return undefined;
  const left = windowLimits(state) ?? { bytes, text: limit };
  const by = windowText(state.window) > left.text ? 'text' : 'bytes';
  return endFailed(state, 'context_length_exceeded', doesNotFit(state, left[by], sizeOf(state.window, by)));
}

/** What a compaction counts: the bytes that a run carries, or those of them that count as tokens. Without media, both are the same. */
type Counted = 'bytes' | 'text';

function sizeOf(window: Pick<Window, 'events' | 'bytes'>, by: Counted): number {
  return by === 'bytes' ? window.bytes : windowText(window);
}

function eventSize(event: WindowEvent, by: Counted): number {
  return by === 'bytes' ? windowEventBytes(event) : windowEventText(event);
}

function doesNotFit({ runId, snapshot }: RunState, limit: number, size: number): string {
  const agent = `agent "${snapshot.name}"`;
  return limit <= 0
    ? `The instructions and tools of ${agent} leave no room for the conversation of run "${runId}": raise "window", or shorten them`
    : `The conversation of run "${runId}" does not fit the window of ${agent}: ${size} bytes, over ${limit}, and nothing more can be removed. ` +
        'Raise "window", or ask for less at a time';
}

/**
 * Compacts a conversation that the provider refused as too long, to well below its current size. Returns undefined if nothing could be
 * removed.
 */
export async function shortenConversation(state: RunState, ports: CompactionPorts): Promise<'shortened' | NextStep | undefined> {
  if (state.snapshot.window === undefined) return undefined;
  const before = windowText(state.window);
  const ended = await compact(state, ports, Math.floor(before * ENOUGH), 'text');
  return ended ?? (windowText(state.window) < before ? 'shortened' : undefined);
}

/**
 * Replaces all of a conversation except its newest message by a summary, for a provider that refuses the conversation. Returns undefined if
 * nothing could be replaced, or the summary failed.
 */
async function summarizeEarlier(state: RunState, ports: CompactionPorts): Promise<'summarized' | NextStep | undefined> {
  const { events, bytes } = state.window;
  const newest = events.at(-1);
  const isMessage = newest?.content.every((item) => item.type === 'message' && item.role === 'user') === true;
  const earlier = isMessage ? events.slice(0, -1) : events;
  if (earlier.length === 0 || state.snapshot.window?.summarize !== true) return undefined;
  const range = { head: null, tail: isMessage ? newest.offset : null, events: earlier.length };
  const ended = await summarizeRange(state, ports, range, summaryBytes(bytes));
  if (ended === undefined) return 'summarized';
  return ended.ending.status === 'error' ? undefined : ended;
}

/**
 * Compacts the window. Results that the model has not seen are evicted last, and only if they do not fit in addition to a summary of the
 * rest.
 */
async function compact(state: RunState, ports: CompactionPorts, limit: number, by: Counted): Promise<NextStep | undefined> {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  const { keepResults } = policy;
  dropRecalled(state, ports, recalledBeforeTurn(state.window));
  const isLast = (item: ContentItem): boolean => points.isEvictedLast(state, item);
  const size = (): number => sizeOf(state.window, by);
  const old = (): PlannedEviction =>
    planEviction(state.window, { bytes: limit * GOAL, keepResults, keepFrom: state.seenEvents, isLast, by });
  if (policy.summarize) {
    const bounds = { mostBytes: roomBeside(state, limit, by), goalBytes: limit * GOAL, isLast, by };
    evictResults(state, ports, planUnseenEviction(state.window, state.seenEvents, bounds));
    // Events to summarize are not evicted before: a summary of markers would be empty.
    const isEnough = (): boolean => sizeWithout(state.window, old(), by) <= limit * ENOUGH;
    // Recalled entries are still in the memory: no summary repeats them.
    if (!isEnough()) dropRecalled(state, ports, recalledBefore(state.window, state.seenEvents));
    const ended = isEnough() ? undefined : await summarize(state, ports, limit, by);
    if (ended !== undefined) return ended;
  }
  if (size() > limit) dropRecalled(state, ports, recalledBefore(state.window, state.seenEvents));
  if (size() > limit * ENOUGH) evictResults(state, ports, old());
  if (size() > limit) {
    const all = { keepResults: 0, isLast, by };
    evictResults(state, ports, planEviction(state.window, { ...all, bytes: limit * ENOUGH, keepFrom: state.seenEvents }));
    evictResults(state, ports, planEviction(state.window, { ...all, bytes: limit, keepFrom: Infinity }));
  }
  return undefined;
}

/** Returns the size of the window after an eviction. */
function sizeWithout(window: Window, evicted: PlannedEviction, by: Counted): number {
  return sizeOf(extendWindow(window, { id: '', author: '', content: [], compaction: { evicted } }), by);
}

function dropRecalled(state: RunState, ports: CompactionPorts, dropped: number[]): void {
  if (dropped.length > 0) recordCompaction(state, ports, { content: [], compaction: { dropped } });
}

function evictResults(state: RunState, ports: CompactionPorts, evicted: PlannedEviction): void {
  if (evicted.length > 0) recordCompaction(state, ports, { content: [], compaction: { evicted } });
}

/** Returns the bytes of `limit` that remain after the first message and a summary. */
function roomBeside(state: RunState, limit: number, by: Counted): number {
  const { window } = state;
  const head = (sessionOf(state) === undefined ? headOf(window.events) : []).reduce((bytes, event) => bytes + eventSize(event, by), 0);
  return limit - head - summaryBytes(limit) - SUMMARY_EVENT_BYTES;
}

/** Returns the maximum bytes of a summary's text. */
function summaryBytes(limit: number): number {
  return Math.min(BYTE_BUDGETS.summary, Math.max(LEAST_SUMMARY_BYTES, Math.floor(limit * SUMMARY)));
}

async function summarize(state: RunState, ports: CompactionPorts, limit: number, by: Counted): Promise<NextStep | undefined> {
  const maxBytes = summaryBytes(limit);
  const unseenBytes = roomBeside(state, limit, by);
  const keptBytes = unseenBytes - limit * (1 - ENOUGH);
  const range = planSummary(state.window, {
    tailBytes: Math.min(limit * TAIL, keptBytes),
    keptBytes,
    keepResults: state.snapshot.window?.keepResults ?? 0,
    unseenBytes,
    unseenFrom: state.seenEvents,
    leastBytes: maxBytes + SUMMARY_EVENT_BYTES,
    // The beginning of a conversation of months is not its topic.
    isWhole: sessionOf(state) !== undefined,
    by,
  });
  return range === undefined ? undefined : await summarizeRange(state, ports, range, maxBytes);
}

/** Replaces a part of the window by a summary. Returns the end of the run if the summary fails. */
async function summarizeRange(
  state: RunState,
  ports: CompactionPorts,
  range: SummaryRange,
  maxBytes: number,
): Promise<Extract<NextStep, { type: 'finish' }> | undefined> {
  const { through, lastEventId } = state.window;
  const outcome = await ports.summarize({ through, lastEventId, ...range, maxBytes });
  const model = summaryModelOf(state.snapshot);
  if (outcome.type === 'cancelled') {
    if (outcome.partial) recordInterrupted(state, ports, model, outcome.partial);
    return endCancelled(state);
  }
  if (outcome.type === 'failed') {
    recordFailedCall(state, ports, model, outcome);
    return endFailed(state, outcome.code, `The conversation could not be summarized: ${outcome.message}`);
  }
  const { id, text, usage, failedAttempts, answeredBy } = outcome;
  const spending = spend(state, { model: answeredBy ?? model, usage, answer: text, failedAttempts });
  const { head, tail } = range;
  const content: ContentItem[] = [
    { type: 'message', role: 'user', content: `Summary of the conversation so far:\n${text}${points.endOfSummary(state)}` },
  ];
  recordCompaction(state, ports, {
    id,
    ...spending,
    ...defined({ answeredBy }),
    content,
    compaction: { summarized: { head, tail }, ...notesOf(outcome) },
  });
  return undefined;
}

/** Records a compaction, and drops the provider's token count, which is of the window before it. */
function recordCompaction(state: RunState, ports: CompactionPorts, event: Omit<Parameters<typeof recordEvent>[2], 'author'>): void {
  recordEvent(state, ports, { author: state.snapshot.name, ...event });
  delete state.measured;
}

// Capability: the recalled entries that a compaction removes.

/** Returns the offsets of the events with entries that were recalled for an earlier turn: they are dropped first. */
function recalledBeforeTurn(window: Pick<Window, 'events'>): number[] {
  return recalledBefore(window, window.events.findLast(isMessageOfUser)?.offset ?? 0);
}

/** Returns the offsets of the events with recalled entries before an offset. */
function recalledBefore({ events }: Pick<Window, 'events'>, offset: number): number[] {
  return events.filter((event) => event.offset < offset && isRecall(event)).map((event) => event.offset);
}

// Capability: the events that a compaction removes.

/** The goal of an eviction: the size to reach, and the events that stay. */
interface EvictionGoal {
  /** The bytes to reach. */
  bytes: number;
  /** The number of newest results that stay. */
  keepResults: number;
  /** The offset from which events stay unchanged. */
  keepFrom: number;
  /** True for results that are evicted after all others. Default: none. */
  isLast?: (item: ContentItem) => boolean;
  /** What is counted. Default: bytes. */
  by?: Counted;
}

type Evicted = NonNullable<Compaction['evicted']>;

/** A tool result that can be evicted, and the bytes that its eviction saves. */
interface Evictable {
  at: [offset: number, index: number];
  saved: number;
  item: ContentItem;
}

/** Selects the tool results to evict, oldest first, until the events reach the goal or nothing is left to evict. */
export function planEviction(window: Pick<Window, 'events' | 'bytes'>, goal: EvictionGoal): Evicted {
  const { isLast = () => false, by = 'bytes' } = goal;
  const all = window.events.flatMap((event) => evictableResults(event, by));
  const evictable = all.slice(0, Math.max(0, all.length - goal.keepResults)).filter(({ at: [offset] }) => offset < goal.keepFrom);
  const evicted: Evicted = [];
  let left = sizeOf(window, by);
  const inOrder = [...evictable.filter(({ item }) => !isLast(item)), ...evictable.filter(({ item }) => isLast(item))];
  for (const { at, saved } of inOrder) {
    if (left <= goal.bytes) break;
    evicted.push(at);
    left -= saved;
  }
  return evicted;
}

/** Returns the results of an event that are larger than the marker that would replace them. */
function evictableResults({ offset, content }: WindowEvent, by: Counted): Evictable[] {
  return content.flatMap((item, index) => {
    if (item.type !== 'tool_result') return [];
    const beyond = by === 'text' ? bytesBeyondText([{ content: [item] }]) : 0;
    const saved = savedBytes(item) - beyond;
    return saved > 0 ? [{ at: [offset, index], saved, item }] : [];
  });
}

/** The bytes saved by the eviction of each result, cached because a compaction plans several times. */
const bytesSaved = new WeakMap<ToolResult, number>();

/** Returns the bytes saved by the eviction of a result. */
function savedBytes(result: ToolResult): number {
  const known = bytesSaved.get(result);
  if (known !== undefined) return known;
  const saved = isEvicted(result) ? 0 : jsonBytes(result) - jsonBytes(evictedResult(result));
  bytesSaved.set(result, saved);
  return saved;
}

/**
 * Selects the results to evict among the events that the model has not seen, oldest first. None if these events fit in addition to the
 * first message and a summary (`mostBytes`), or if evicting all their results would not make them fit. Otherwise evicts down to `goalBytes`
 * if possible, else down to `mostBytes`.
 */
export function planUnseenEviction(
  { events }: Window,
  unseenFrom: number,
  bounds: { mostBytes: number; goalBytes: number } & Pick<EvictionGoal, 'isLast' | 'by'>,
): Evicted {
  const { by = 'bytes' } = bounds;
  const unseen = unseenExchanges(exchangesOf(events.slice(headOf(events).length), unseenFrom, by));
  const bytes = bytesOfExchanges(unseen);
  if (bytes <= bounds.mostBytes) return [];
  const newest = { events: unseen.flatMap((exchange) => exchange.events), bytes };
  const evictable = newest.events.flatMap((event) => evictableResults(event, by)).reduce((total, { saved }) => total + saved, 0);
  if (bytes - evictable > bounds.mostBytes) return [];
  // If the goal is out of reach, keeping the newest results is worth more than getting closer to it.
  const reachable = bytes - evictable <= bounds.goalBytes;
  const down = reachable ? Math.min(bounds.goalBytes, bounds.mostBytes) : bounds.mostBytes;
  return planEviction(newest, { ...bounds, bytes: down, keepResults: 0, keepFrom: Infinity });
}

/** Returns the events that are never summarized: the first of the window and, if the run started with calls, their results. */
function headOf(events: readonly WindowEvent[]): readonly WindowEvent[] {
  const others = events.findIndex(({ content }, index) => index > 0 && !content.some(({ type }) => type === 'tool_result'));
  return others < 0 ? events : events.slice(0, others);
}

/** The range of events to summarize, between two that stay. */
interface SummaryRange {
  head: number | null;
  tail: number | null;
  events: number;
}

/** The bounds of the events that stay after a summary. Bytes count all events after the summary. */
interface SummaryGoal {
  /** The bytes up to which all events stay. */
  tailBytes: number;
  /** The bytes up to which the newest results stay; `keepResults` is their largest number. */
  keptBytes: number;
  keepResults: number;
  /** The bytes up to which unseen events stay: the events from `unseenFrom` on, with the calls that they answer. */
  unseenBytes: number;
  unseenFrom: number;
  /** True if the first message may be summarized, too. */
  isWhole?: boolean;
  /** The bytes up to which older events are not worth a summary, which may be just as large. */
  leastBytes: number;
  /** What is counted. Default: bytes. */
  by?: Counted;
}

/**
 * Selects the older part of the window: all events between the first message and a tail. A call is never separated from its results.
 * Undefined if there is nothing to summarize.
 */
export function planSummary({ events }: Window, goal: SummaryGoal): SummaryRange | undefined {
  const head = goal.isWhole === true ? [] : headOf(events);
  if (events.length === 0) return undefined;
  const others = events.slice(head.length);
  const exchanges = exchangesOf(others, goal.unseenFrom, goal.by ?? 'bytes');
  const older = exchanges.slice(0, exchanges.length - tailLength(exchanges, goal));
  if (bytesOfExchanges(older) <= goal.leastBytes) return undefined;
  const count = older.reduce((total, exchange) => total + exchange.events.length, 0);
  return { head: head.at(-1)?.offset ?? null, tail: others[count]?.offset ?? null, events: count };
}

/** Returns the number of newest exchanges that stay. */
function tailLength(exchanges: readonly Exchange[], goal: SummaryGoal): number {
  let bytes = 0;
  let results = 0;
  let count = 0;
  for (const exchange of exchanges.toReversed()) {
    const kept = exchange.results > 0 && results < goal.keepResults ? goal.keptBytes : goal.tailBytes;
    bytes += exchange.bytes;
    if (bytes > (exchange.unseen ? goal.unseenBytes : kept)) break;
    results += exchange.results;
    count += 1;
  }
  return count;
}

/** An event and the results of its calls. */
interface Exchange {
  events: WindowEvent[];
  bytes: number;
  /** The number of results that have not been evicted. */
  results: number;
  /** True if the model has not seen all of it. */
  unseen: boolean;
}

function exchangesOf(events: readonly WindowEvent[], unseenFrom: number, by: Counted): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const event of events) {
    const { content, offset } = event;
    const results = content.filter((item) => item.type === 'tool_result');
    const own = {
      events: [event],
      bytes: eventSize(event, by),
      results: results.filter((result) => !isEvicted(result)).length,
      unseen: offset >= unseenFrom,
    };
    const before = results.length === 0 ? undefined : exchanges.pop();
    exchanges.push(before === undefined ? own : joinExchanges(before, own));
  }
  return exchanges;
}

function joinExchanges(before: Exchange, next: Exchange): Exchange {
  return {
    events: [...before.events, ...next.events],
    bytes: before.bytes + next.bytes,
    results: before.results + next.results,
    unseen: before.unseen || next.unseen,
  };
}

/** Returns the last exchanges that the model has not seen. Only the end counts, because an older unseen event may be a summary. */
function unseenExchanges(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.slice(exchanges.findLastIndex(({ unseen }) => !unseen) + 1);
}

function bytesOfExchanges(exchanges: readonly Exchange[]): number {
  return exchanges.reduce((total, { bytes }) => total + bytes, 0);
}

// Capability: repairs a conversation that the provider of a session refuses.

/** Bytes of a refusal that a session remembers. */
const REFUSAL_BYTES = 300;

/** True for the codes of a request whose form a provider refuses. The client has already tried the forms that it knows. */
function isRefusal(code: ErrorCode): boolean {
  return code === 'model_bad_request' || code === 'model_unprocessable';
}

/**
 * Handles the refusal of a request. A session keeps its conversation, so every later turn would be refused, too. So the second refusal with
 * the same words and no answer in between has the conversation compacted, once per turn. Undefined: the turn ends with the provider's
 * error. The conversation of a run without turns is not changed, because the run ends with its error.
 */
async function repairConversation(state: RunState, ports: CompactionPorts, refused: string): Promise<'repaired' | NextStep | undefined> {
  const session = sessionOf(state);
  if (session === undefined) return undefined;
  const refusal = wordsOf(refused);
  if (session.refusal !== refusal) {
    session.refusal = refusal;
    return undefined;
  }
  const { bytes, events } = state.window;
  const compacted = (await summarizeEarlier(state, ports)) ?? (await shortenConversation(state, ports));
  if (compacted === undefined) return undefined;
  if (compacted !== 'summarized' && compacted !== 'shortened') return unlessFailed(compacted);
  session.compactedAt = session.turns;
  const what = `${events.length} events with ${bytes} bytes are now ${state.window.events.length} with ${state.window.bytes}`;
  const message = `The provider refused the conversation twice, so it was compacted: ${what}`;
  recordNotices(state, ports, [{ code: 'conversation_repaired', message }]);
  return 'repaired';
}

/** A failed compaction must not hide the provider's error. */
function unlessFailed(next: NextStep): NextStep | undefined {
  return next.type === 'finish' && next.ending.status === 'error' ? undefined : next;
}

/** Returns the words of a refusal without ids and positions, which differ between requests. */
function wordsOf(message: string): string {
  const words = message.replaceAll(/[\w-]+/g, (word) => (/\d/.test(word) ? '#' : word));
  return jsonTextPrefix(words, REFUSAL_BYTES);
}

export const compaction: Capability<CompactionPorts> = {
  name: 'compaction',
  makesRoom: compactWindow,
  shortens: shortenConversation,
  repairs: (state, ports, { code, message }) => (isRefusal(code) ? repairConversation(state, ports, message) : undefined),
  responseArrives(state, _, response) {
    const session = sessionOf(state);
    if (session !== undefined) delete session.refusal;
    return response;
  },
};
