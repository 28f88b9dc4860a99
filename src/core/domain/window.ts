import { jsonBytes } from './byte-budgets.ts';
import { type UsedCallIds, withUsedCallIds } from './call-ids.ts';
import { bytesBeyondText, type ContentItem, isToolCall, isToolResult, outputText, type ToolResult } from './content.ts';
import { defined, type JsonValue } from './json.ts';
import type { Compaction, Event } from './record.ts';

/** The part of an event that the model sees. */
export interface WindowEvent {
  /** The offset of the event in the record of the run. */
  offset: number;
  id: string;
  author: string;
  content: ContentItem[];
  providerItems?: JsonValue[];
  /** The model that answered, unless it is the agent's first model. */
  answeredBy?: string;
}

/**
 * The part of a run that the model sees: the record of events without the compacted parts. It is a fold of the record, so every process
 * with the same events computes the same window, and a window can be carried over without the underlying events.
 */
export interface Window {
  events: WindowEvent[];
  /** The number of recorded events that the window covers. */
  through: number;
  /** The id of the last of them, or an empty text. */
  lastEventId: string;
  /** Bytes of JSON of the events' content. */
  bytes: number;
  /** The ids of calls that were removed from the window. Absent if none were. */
  usedCallIds?: UsedCallIds;
}

/** The fields of an event that extend a window. */
export type Folded = Pick<Event, 'id' | 'author' | 'content' | 'providerItems' | 'answeredBy' | 'compaction' | 'guardrails'>;

/** Returns the fields of an event that extend a window. The content of calls made by code, and of their results, is not in the window. */
export function foldedEvent({
  id,
  author,
  content,
  providerItems,
  answeredBy,
  compaction,
  guardrails,
  caller,
}: Folded & Pick<Event, 'caller'>): Folded {
  return {
    id,
    author,
    content: caller === 'code' ? [] : content,
    ...defined({ providerItems, answeredBy, compaction }),
    ...(guardrails?.blocked === undefined ? {} : { guardrails }),
  };
}

/** Returns the window of a run without events. */
export function emptyWindow(): Window {
  return { events: [], through: 0, lastEventId: '', bytes: 0 };
}

/** Returns the window after one more event of the record. Does not modify the given window. */
export function extendWindow(window: Window, event: Folded): Window {
  const { id, compaction, guardrails } = event;
  const added = windowEvent(window.through, event);
  const position = { through: window.through + 1, lastEventId: id };
  if (guardrails?.blocked !== undefined) {
    const { blocked } = guardrails;
    const events = window.events.filter(({ offset }) => !blocked.includes(offset));
    return { ...position, events, bytes: bytesOf(events), ...usedAfter(window, events) };
  }
  if (compaction === undefined) {
    const { usedCallIds } = window;
    return { ...position, events: [...window.events, ...added], bytes: window.bytes + bytesOf(added), ...defined({ usedCallIds }) };
  }
  const { dropped = [] } = compaction;
  const left = dropped.length === 0 ? window.events : window.events.filter(({ offset }) => !dropped.includes(offset));
  const kept = evict(left, compaction.evicted ?? []);
  const events = compaction.summarized === undefined ? [...kept, ...added] : withSummary(kept, compaction.summarized, added);
  return { ...position, events, bytes: bytesOf(events), ...usedAfter(window, events) };
}

/** Returns the ids of the calls that are no longer in the window, as a field of it. */
function usedAfter({ events: before, usedCallIds }: Window, events: readonly WindowEvent[]): Pick<Window, 'usedCallIds'> {
  const left = new Set(callIdsIn(events));
  const removed = callIdsIn(before).filter((id) => !left.has(id));
  return defined({ usedCallIds: removed.length === 0 ? usedCallIds : withUsedCallIds(usedCallIds ?? [], removed) });
}

/** Returns the newest text in the window that begins with a text: what that was before it was cut. Without one, returns the beginning. */
export function wholeText({ events }: Window, beginning: string): string {
  const texts = events.map(({ content }) =>
    content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : [])).join('\n'),
  );
  return texts.findLast((text) => text.startsWith(beginning)) ?? beginning;
}

/** Returns the ids of the calls in events. */
export function callIdsIn(events: readonly Pick<WindowEvent, 'content'>[]): string[] {
  return events.flatMap(({ content }) => content.flatMap((item) => (isToolCall(item) ? [item.toolCallId] : [])));
}

/** Returns the event as an entry of the window. An event without content gets no entry: it only changes the window. */
function windowEvent(offset: number, { id, author, content, providerItems, answeredBy }: Folded): WindowEvent[] {
  return content.length === 0 ? [] : [{ offset, id, author, content, ...defined({ providerItems, answeredBy }) }];
}

/** The maximum number of events without a place in the window whose ids a run carries: 10,000 bytes of JSON. */
const MAX_OTHER_IDS = 200;

/**
 * Returns the offsets and ids of the newest events that have no entry in the window, the last event excluded. Ids of calls that no model
 * made are in the history.
 */
export function idsOutside({ events, through }: Window, newest: readonly Event[]): [offset: number, id: string][] {
  const inside = new Set(events.map(({ offset }) => offset));
  const first = through - newest.length;
  return newest
    .flatMap(({ id, caller }, index): [number, string][] => (caller === undefined ? [[first + index, id]] : []))
    .filter(([offset]) => offset < through - 1 && !inside.has(offset))
    .slice(-MAX_OTHER_IDS);
}

/** True for a message to the run, and for what the run itself asks in the user's place. */
export function isMessageOfUser({ author, content }: WindowEvent): boolean {
  return author === 'user' && content.some((item) => item.type === 'message' && item.role === 'user');
}

function bytesOf(events: readonly WindowEvent[]): number {
  return events.reduce((sum, event) => sum + windowEventBytes(event), 0);
}

/** The bytes of events, cached because events never change and each compaction counts all of them. */
const bytesOfEvents = new WeakMap<WindowEvent, number>();

/** Returns the bytes of an event in the window. */
export function windowEventBytes(event: WindowEvent): number {
  const known = bytesOfEvents.get(event);
  if (known !== undefined) return known;
  const { content, providerItems } = event;
  const bytes = jsonBytes(content) + (providerItems === undefined ? 0 : jsonBytes(providerItems));
  bytesOfEvents.set(event, bytes);
  return bytes;
}

/** The bytes of events that count as tokens, cached like those above. */
const textOfEvents = new WeakMap<WindowEvent, number>();

/** Returns the bytes of an event that count as tokens: media count as much text as models count for them, not as their base64. */
export function windowEventText(event: WindowEvent): number {
  const known = textOfEvents.get(event);
  if (known !== undefined) return known;
  const text = windowEventBytes(event) - bytesBeyondText([event]);
  textOfEvents.set(event, text);
  return text;
}

/** Returns the bytes of a window that count as tokens. Without media, these are its bytes. */
export function windowText({ events }: Pick<Window, 'events'>): number {
  return events.reduce((sum, event) => sum + windowEventText(event), 0);
}

function evict(events: readonly WindowEvent[], evicted: NonNullable<Compaction['evicted']>): WindowEvent[] {
  const indexesByOffset = new Map<number, Set<number>>();
  for (const [offset, index] of evicted) indexesByOffset.set(offset, (indexesByOffset.get(offset) ?? new Set()).add(index));
  return events.map((event) => {
    const indexes = indexesByOffset.get(event.offset);
    if (indexes === undefined) return event;
    return {
      ...event,
      content: event.content.map((item, index) => (indexes.has(index) && isToolResult(item) ? evictedResult(item) : item)),
    };
  });
}

/** Returns the result with a marker instead of its content, and without its notes. Evicting it again changes nothing. */
export function evictedResult(result: ToolResult): ToolResult {
  if (isEvicted(result)) return result;
  const { notes: _, ...rest } = result;
  return { ...rest, content: [`${markerOf(result)}${jsonBytes(result.content)} bytes]`] };
}

/** True for a result whose content was evicted from the window. Compares the whole text, because a tool may return a similar one. */
export function isEvicted(result: ToolResult): boolean {
  const [text, ...others] = result.content;
  const marker = markerOf(result);
  return others.length === 0 && typeof text === 'string' && text.startsWith(marker) && /^\d{1,9} bytes\]$/.test(text.slice(marker.length));
}

function markerOf({ name }: ToolResult): string {
  return `[removed to save space: the result of "${name}", `;
}

/** Replaces all events between the two offsets with the summary. */
function withSummary(
  events: readonly WindowEvent[],
  { head, tail }: NonNullable<Compaction['summarized']>,
  summary: readonly WindowEvent[],
): WindowEvent[] {
  const from = events.findIndex((event) => event.offset === head) + 1;
  const to = events.findIndex((event) => event.offset === tail);
  return [...events.slice(0, from), ...summary, ...(to < 0 ? [] : events.slice(to))];
}
