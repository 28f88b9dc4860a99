import type { ContentItem, ToolResult } from '../content/content.ts';
import type { Compaction } from '../agent/compaction.ts';
import type { Event } from './event.ts';
import type { JsonValue } from '../json/json.ts';
import { jsonBytes } from '../json/payload-limit.ts';

/** An event as the model sees it. */
export interface WindowEvent {
  /** Where the event is in the record of the run. */
  offset: number;
  id: string;
  author: string;
  content: ContentItem[];
  providerItems?: JsonValue[];
}

/**
 * What the model sees of a run: the record of events, with what was compacted taken out. It is a fold of the record:
 * whoever has the same events has the same window, and a window can be carried on without the events behind it.
 */
export interface Window {
  events: WindowEvent[];
  /** The number of events of the record that are folded in. */
  through: number;
  /** The id of the last of them, or an empty text where there is none. */
  lastEventId: string;
  /** Of the events' content, in JSON. */
  bytes: number;
}

/** What an event adds to a window. */
export type Folded = Pick<Event, 'id' | 'author' | 'content' | 'providerItems' | 'compaction'>;

/** The window of a run that has no events. */
export function emptyWindow(): Window {
  return { events: [], through: 0, lastEventId: '', bytes: 0 };
}

/** The window after one more event of the record. Changes nothing of the window before. */
export function extendWindow(window: Window, event: Folded): Window {
  const { id, compaction } = event;
  const added = windowEvent(window.through, event);
  const position = { through: window.through + 1, lastEventId: id };
  if (compaction === undefined) {
    return { ...position, events: [...window.events, ...added], bytes: window.bytes + bytesOf(added) };
  }
  const kept = evict(window.events, compaction.evicted ?? []);
  const events = compaction.summarised === undefined ? [...kept, ...added] : summarised(kept, compaction.summarised, added);
  return { ...position, events, bytes: bytesOf(events) };
}

/** An event without content has no place in the window: it only changes it. */
function windowEvent(offset: number, { id, author, content, providerItems }: Folded): WindowEvent[] {
  return content.length === 0 ? [] : [{ offset, id, author, content, ...(providerItems === undefined ? {} : { providerItems }) }];
}

function bytesOf(events: readonly WindowEvent[]): number {
  return events.reduce((sum, event) => sum + windowEventBytes(event), 0);
}

/** Bytes that an event takes in the window. */
export function windowEventBytes({ content, providerItems }: WindowEvent): number {
  return jsonBytes(content) + (providerItems === undefined ? 0 : jsonBytes(providerItems));
}

function evict(events: readonly WindowEvent[], evicted: NonNullable<Compaction['evicted']>): WindowEvent[] {
  const places = new Map<number, Set<number>>();
  for (const [offset, index] of evicted) places.set(offset, (places.get(offset) ?? new Set()).add(index));
  return events.map((event) => {
    const indexes = places.get(event.offset);
    if (indexes === undefined) return event;
    return {
      ...event,
      content: event.content.map((item, index) => (indexes.has(index) && isToolResult(item) ? evictedResult(item) : item)),
    };
  });
}

/** The same result with a marker in the place of what it held. Evicting it again changes nothing. */
export function evictedResult(result: ToolResult): ToolResult {
  return isEvicted(result) ? result : { ...result, content: [`${markerOf(result)}${jsonBytes(result.content)} bytes]`] };
}

/** True for a result whose content has been taken out of the window. A tool may return something that only looks like it. */
export function isEvicted(result: ToolResult): boolean {
  const [text, ...others] = result.content;
  const marker = markerOf(result);
  return others.length === 0 && typeof text === 'string' && text.startsWith(marker) && /^\d{1,9} bytes\]$/.test(text.slice(marker.length));
}

function markerOf({ name }: ToolResult): string {
  return `[removed to save space: the result of "${name}", `;
}

function isToolResult(item: ContentItem): item is ToolResult {
  return item.type === 'tool_result';
}

/** Everything between the two events gives way to the summary. */
function summarised(
  events: readonly WindowEvent[],
  { head, tail }: NonNullable<Compaction['summarised']>,
  summary: readonly WindowEvent[],
): WindowEvent[] {
  const from = events.findIndex((event) => event.offset === head) + 1;
  const to = events.findIndex((event) => event.offset === tail);
  return [...events.slice(0, from), ...summary, ...(to < 0 ? [] : events.slice(to))];
}
