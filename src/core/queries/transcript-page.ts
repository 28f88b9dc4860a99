import { emptyWindow, type Folded, foldedEvent, type Window } from '../domain/record/window.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { PAGE_BYTES, type TranscriptAnswer, type TranscriptQuestion } from '../protocol.ts';
import { page } from './pages.ts';

/** A window that the activity has. */
type Known = TranscriptQuestion['known'][number];

/**
 * Returns the part of the conversation that an activity lacks: the events since a window that it has, or the whole window if the
 * run knows none of its windows.
 */
export function transcriptPage(state: RunState | undefined, ask: TranscriptQuestion | undefined): TranscriptAnswer {
  if (state === undefined) return { type: 'window', ...emptyWindow(), from: 0, total: 0 };
  const { window } = state;
  const from = ask?.from ?? 0;
  const position = { through: window.through, lastEventId: window.lastEventId, from };
  for (const known of ask?.known ?? []) {
    const events = eventsSince(state, known);
    if (events !== undefined)
      return { ...position, type: 'events', since: known.through, total: events.length, events: page(events, from) };
  }
  return { ...position, type: 'window', total: window.events.length, events: page(window.events, from) };
}

/**
 * Returns the events after the activity's last one; undefined if they are unknown, or too large. After a compaction, the window may
 * be smaller than the events.
 */
function eventsSince(state: RunState, known: Known): Folded[] | undefined {
  const events = recordedSince(state, known) ?? carriedSince(state.window, known);
  return events === undefined || jsonBytes(events) > PAGE_BYTES ? undefined : events;
}

/** Finds them in the record of this execution, if the activity's last event is in it or right before it. */
function recordedSince({ context, firstOffset, carriedEventId }: RunState, { through, lastEventId }: Known): Folded[] | undefined {
  const index = through - firstOffset;
  const id = index === 0 ? carriedEventId : context.events[index - 1]?.id;
  return id !== undefined && id === lastEventId ? context.events.slice(index).map(foldedEvent) : undefined;
}

/**
 * Finds them in the window, if the activity's last event is of an earlier execution. Requires that every later event is in the
 * window in the order of the record: the event of a compaction is not in it, or is at another index.
 */
function carriedSince({ events, through }: Window, known: Known): Folded[] | undefined {
  const index = events.findIndex(({ offset, id }) => offset === known.through - 1 && id === known.lastEventId);
  const since = index < 0 ? [] : events.slice(index + 1);
  if (index < 0 || since.length !== through - known.through) return undefined;
  return since.every(({ offset }, count) => offset === known.through + count) ? since.map(foldedEvent) : undefined;
}
