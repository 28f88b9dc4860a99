import type { Compaction } from '../domain/compaction.ts';
import { jsonBytes } from '../domain/payload-limit.ts';
import { evictedResult, isEvicted, type Window, type WindowEvent, windowEventBytes } from '../domain/window.ts';

/** What is to be taken out, and down to which size. */
export interface EvictionGoal {
  /** Bytes of the window to come down to. */
  bytes: number;
  /** The newest results that stay. */
  keepResults: number;
}

type Evicted = NonNullable<Compaction['evicted']>;

interface Place {
  at: [offset: number, index: number];
  saved: number;
}

/** The tool results to evict, oldest first, until the window is down to the goal or nothing is left to evict. */
export function planEviction(window: Window, goal: EvictionGoal): Evicted {
  const places = window.events.flatMap(evictablePlaces);
  const evictable = places.slice(0, Math.max(0, places.length - goal.keepResults));
  const evicted: Evicted = [];
  let { bytes } = window;
  for (const { at, saved } of evictable) {
    if (bytes <= goal.bytes) break;
    evicted.push(at);
    bytes -= saved;
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

/** What to summarise: the events between two that stay. */
export interface SummaryRange {
  head: number;
  tail: number | null;
  events: number;
}

/**
 * The older part of the window: all between the first message and a tail of at most `tailBytes`. The tail never
 * begins between a call and its result. Undefined where there is nothing to summarise.
 */
export function planSummary(window: Window, tailBytes: number): SummaryRange | undefined {
  const { events } = window;
  const head = events[0];
  if (head === undefined) return undefined;
  const first = tailStart(events, tailBytes);
  // A range of one event that is a summary already would only be summarised again.
  if (first <= 1 || (first === 2 && events[1]?.content.every((item) => item.type === 'message' && item.role === 'user'))) return undefined;
  return { head: head.offset, tail: events[first]?.offset ?? null, events: first - 1 };
}

/** The place of the first event of the tail. */
function tailStart(events: readonly WindowEvent[], tailBytes: number): number {
  let start = events.length;
  let bytes = 0;
  for (let place = events.length - 1; place > 0; place -= 1) {
    const event = events[place];
    if (event === undefined) break;
    bytes += windowEventBytes(event);
    if (bytes > tailBytes) break;
    if (!answersCalls(event)) start = place;
  }
  return start;
}

/** True for an event that belongs to the event before it: results of its calls. */
function answersCalls({ content }: WindowEvent): boolean {
  return content.some((item) => item.type === 'tool_result');
}
