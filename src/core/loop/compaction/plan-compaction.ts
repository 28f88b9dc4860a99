// Model phase: the events that a compaction takes out.

import type { ContentItem } from '../../domain/content/content.ts';
import type { Compaction } from '../../domain/agent/compaction.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import { evictedResult, isEvicted, type Window, type WindowEvent, windowEventBytes } from '../../domain/record/window.ts';

/** The goal of an eviction: the size to reach, and the events that stay. */
export interface EvictionGoal {
  /** The bytes to reach. */
  bytes: number;
  /** The number of newest results that stay. */
  keepResults: number;
  /** The offset from which on events stay unchanged. */
  keepFrom: number;
  /** True for results that are evicted after all others. Default: none. */
  isLast?: (item: ContentItem) => boolean;
}

type Evicted = NonNullable<Compaction['evicted']>;

/** A tool result that can be evicted, and the bytes that its eviction saves. */
interface Evictable {
  at: [offset: number, index: number];
  saved: number;
  item: ContentItem;
}

/** Selects the tool results to evict, oldest first, until the events reach the goal or nothing is left to evict. */
export function planEviction({ events, bytes }: Pick<Window, 'events' | 'bytes'>, goal: EvictionGoal): Evicted {
  const all = events.flatMap(evictableResults);
  const evictable = all.slice(0, Math.max(0, all.length - goal.keepResults)).filter(({ at: [offset] }) => offset < goal.keepFrom);
  const evicted: Evicted = [];
  let left = bytes;
  const { isLast = () => false } = goal;
  const inOrder = [...evictable.filter(({ item }) => !isLast(item)), ...evictable.filter(({ item }) => isLast(item))];
  for (const { at, saved } of inOrder) {
    if (left <= goal.bytes) break;
    evicted.push(at);
    left -= saved;
  }
  return evicted;
}

/** Returns the results of an event that are larger than the marker that would replace them. */
function evictableResults({ offset, content }: WindowEvent): Evictable[] {
  return content.flatMap((item, index) => {
    if (item.type !== 'tool_result' || isEvicted(item)) return [];
    const saved = jsonBytes(item) - jsonBytes(evictedResult(item));
    return saved > 0 ? [{ at: [offset, index], saved, item }] : [];
  });
}

/**
 * Selects the results to evict among the events that the model has not seen, oldest first. None if these events fit beside the
 * first message and a summary (`mostBytes`), or if evicting all their results would not make them fit. Otherwise it evicts down to
 * `goalBytes` if that can be reached, else down to `mostBytes`.
 */
export function planUnseenEviction(
  { events }: Window,
  unseenFrom: number,
  bounds: { mostBytes: number; goalBytes: number } & Pick<EvictionGoal, 'isLast'>,
): Evicted {
  const unseen = unseenExchanges(exchangesOf(events.slice(headOf(events).length), unseenFrom));
  const bytes = sum(unseen);
  if (bytes <= bounds.mostBytes) return [];
  const newest = { events: unseen.flatMap((exchange) => exchange.events), bytes };
  const evictable = newest.events.flatMap(evictableResults).reduce((total, { saved }) => total + saved, 0);
  if (bytes - evictable > bounds.mostBytes) return [];
  // If the goal is out of reach, keeping the newest results is worth more than coming closer to it.
  const reachable = bytes - evictable <= bounds.goalBytes;
  const down = reachable ? Math.min(bounds.goalBytes, bounds.mostBytes) : bounds.mostBytes;
  return planEviction(newest, { ...bounds, bytes: down, keepResults: 0, keepFrom: Infinity });
}

/** Returns the events that are never summarised: the first of the window and, if a run was started with calls, their results. */
export function headOf(events: readonly WindowEvent[]): readonly WindowEvent[] {
  const others = events.findIndex(({ content }, index) => index > 0 && !content.some(({ type }) => type === 'tool_result'));
  return others < 0 ? events : events.slice(0, others);
}

/** The events to summarise: those between two that stay. */
export interface SummaryRange {
  head: number | null;
  tail: number | null;
  events: number;
}

/** The bounds of the events that stay after a summary. Bytes count all events after the summary. */
export interface SummaryGoal {
  /** The bytes up to which all events stay. */
  tailBytes: number;
  /** The bytes up to which the newest results stay; `keepResults` is their largest number. */
  keptBytes: number;
  keepResults: number;
  /** The bytes up to which unseen events stay: those from `unseenFrom` on, with the calls that they answer. */
  unseenBytes: number;
  unseenFrom: number;
  /** True if the first message may be summarised, too. */
  isWhole?: boolean;
  /** The bytes up to which older events are not worth a summary, which may be as large itself. */
  leastBytes: number;
}

/**
 * Selects the older part of the window: all events between the first message and a tail. A call is never separated from its results.
 * Undefined if there is nothing to summarise.
 */
export function planSummary({ events }: Window, goal: SummaryGoal): SummaryRange | undefined {
  const head = goal.isWhole === true ? [] : headOf(events);
  if (events.length === 0) return undefined;
  const others = events.slice(head.length);
  const exchanges = exchangesOf(others, goal.unseenFrom);
  const older = exchanges.slice(0, exchanges.length - tailLength(exchanges, goal));
  if (sum(older) <= goal.leastBytes) return undefined;
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

/** An event with the events that belong to it: the results of its calls. */
interface Exchange {
  events: WindowEvent[];
  bytes: number;
  /** The number of results that have not been evicted. */
  results: number;
  /** True if the model has not seen all of it. */
  unseen: boolean;
}

function exchangesOf(events: readonly WindowEvent[], unseenFrom: number): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const event of events) {
    const { content, offset } = event;
    const results = content.filter((item) => item.type === 'tool_result');
    const own = {
      events: [event],
      bytes: windowEventBytes(event),
      results: results.filter((result) => !isEvicted(result)).length,
      unseen: offset >= unseenFrom,
    };
    const before = results.length === 0 ? undefined : exchanges.pop();
    exchanges.push(before === undefined ? own : joined(before, own));
  }
  return exchanges;
}

function joined(before: Exchange, next: Exchange): Exchange {
  return {
    events: [...before.events, ...next.events],
    bytes: before.bytes + next.bytes,
    results: before.results + next.results,
    unseen: before.unseen || next.unseen,
  };
}

/** Returns the exchanges at the end that the model has not seen. Only the end counts, because an older unseen event may be a summary. */
function unseenExchanges(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.slice(exchanges.findLastIndex(({ unseen }) => !unseen) + 1);
}

function sum(exchanges: readonly Exchange[]): number {
  return exchanges.reduce((total, { bytes }) => total + bytes, 0);
}
