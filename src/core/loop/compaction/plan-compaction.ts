// Model phase: the events that a compaction takes out.

import type { Compaction } from '../../domain/agent/compaction.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import { evictedResult, isEvicted, type Window, type WindowEvent, windowEventBytes } from '../../domain/record/window.ts';

/** What is to be taken out, and down to which size. */
export interface EvictionGoal {
  /** Bytes to come down to. */
  bytes: number;
  /** The newest results that stay. */
  keepResults: number;
  /** Events from this offset on stay as they are. */
  keepFrom: number;
}

type Evicted = NonNullable<Compaction['evicted']>;

interface Place {
  at: [offset: number, index: number];
  saved: number;
}

/** The tool results to evict, oldest first, until the events are down to the goal or nothing is left to evict. */
export function planEviction({ events, bytes }: Pick<Window, 'events' | 'bytes'>, goal: EvictionGoal): Evicted {
  const places = events.flatMap(evictablePlaces);
  const evictable = places.slice(0, Math.max(0, places.length - goal.keepResults)).filter(({ at: [offset] }) => offset < goal.keepFrom);
  const evicted: Evicted = [];
  let left = bytes;
  for (const { at, saved } of evictable) {
    if (left <= goal.bytes) break;
    evicted.push(at);
    left -= saved;
  }
  return evicted;
}

/** The results of an event that are larger than the marker that would stand for them. */
function evictablePlaces({ offset, content }: WindowEvent): Place[] {
  return content.flatMap((item, index) => {
    if (item.type !== 'tool_result' || isEvicted(item)) return [];
    const saved = jsonBytes(item) - jsonBytes(evictedResult(item));
    return saved > 0 ? [{ at: [offset, index], saved }] : [];
  });
}

/**
 * The results to evict of what the model has not seen, oldest first: where even alone with the first message and a
 * summary it would be too large (`mostBytes`), down to `goalBytes` where that can be reached. None where even `mostBytes` cannot.
 */
export function planUnseenEviction({ events }: Window, unseenFrom: number, bounds: { mostBytes: number; goalBytes: number }): Evicted {
  const unseen = unseenExchanges(exchangesOf(events.slice(1), unseenFrom));
  const bytes = sum(unseen);
  if (bytes <= bounds.mostBytes) return [];
  const newest = { events: unseen.flatMap((exchange) => exchange.events), bytes };
  const evictable = newest.events.flatMap(evictablePlaces).reduce((total, { saved }) => total + saved, 0);
  if (bytes - evictable > bounds.mostBytes) return [];
  // Where the goal is out of reach, the newest results are worth more than a little of the way to it.
  const reachable = bytes - evictable <= bounds.goalBytes;
  const down = reachable ? Math.min(bounds.goalBytes, bounds.mostBytes) : bounds.mostBytes;
  return planEviction(newest, { bytes: down, keepResults: 0, keepFrom: Infinity });
}

/** What to summarise: the events between two that stay. */
export interface SummaryRange {
  head: number;
  tail: number | null;
  events: number;
}

/** What stays beside a summary. Bytes are of all that follows the summary. */
export interface SummaryGoal {
  /** The bytes up to which anything stays. */
  tailBytes: number;
  /** The bytes up to which the newest results stay, and how many. */
  keptBytes: number;
  keepResults: number;
  /** The bytes up to which stays what the model has not seen: the events from an offset on, with the calls that they answer. */
  unseenBytes: number;
  unseenFrom: number;
  /** Less than this is not worth a summary, which may be as large itself. */
  leastBytes: number;
}

/**
 * The older part of the window: all between the first message and a tail. A call and its results are never parted.
 * Undefined where there is nothing to summarise.
 */
export function planSummary({ events }: Window, goal: SummaryGoal): SummaryRange | undefined {
  const [head, ...others] = events;
  if (head === undefined) return undefined;
  const exchanges = exchangesOf(others, goal.unseenFrom);
  const older = exchanges.slice(0, exchanges.length - tailOf(exchanges, goal));
  if (sum(older) <= goal.leastBytes) return undefined;
  const count = older.reduce((total, exchange) => total + exchange.events.length, 0);
  return { head: head.offset, tail: others[count]?.offset ?? null, events: count };
}

/** How many of the newest exchanges stay. */
function tailOf(exchanges: readonly Exchange[], goal: SummaryGoal): number {
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
  /** Results that have not been evicted. */
  results: number;
  /** The model has not seen all of it. */
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

/** The exchanges at the end that the model has not seen: an older one may be a summary. */
function unseenExchanges(exchanges: readonly Exchange[]): Exchange[] {
  return exchanges.slice(exchanges.findLastIndex(({ unseen }) => !unseen) + 1);
}

function sum(exchanges: readonly Exchange[]): number {
  return exchanges.reduce((total, { bytes }) => total + bytes, 0);
}
