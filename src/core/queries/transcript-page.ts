import { emptyWindow, type Folded, type Window } from '../domain/record/window.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import type { RunState } from '../loop/state/run-state.ts';
import { PAGE_BYTES, type TranscriptAnswer, type TranscriptQuestion } from '../protocol.ts';
import { page } from './pages.ts';

/** A window that the asker has. */
type Known = TranscriptQuestion['known'][number];

/** What an activity lacks of the conversation: the events since a window that it has, or the whole window where the run knows none of those. */
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
 * The events after the asker's last. A batch of results may be larger than what compaction has left of it: then the
 * window is less to send.
 */
function eventsSince(state: RunState, known: Known): Folded[] | undefined {
  const events = recordedSince(state, known) ?? carriedSince(state.window, known);
  return events === undefined || jsonBytes(events) > PAGE_BYTES ? undefined : events;
}

/** From the record of this execution, where the asker's last is in it or right before it. */
function recordedSince({ context, firstOffset, carriedEventId }: RunState, { through, lastEventId }: Known): Folded[] | undefined {
  const index = through - firstOffset;
  const id = index === 0 ? carriedEventId : context.events[index - 1]?.id;
  return id !== undefined && id === lastEventId ? context.events.slice(index).map(folded) : undefined;
}

/**
 * From the window, where the asker's last is of an execution before. Only if every later event stands there in its turn:
 * one that compacted has no place of its own, or stands behind an event that it does not follow in the record.
 */
function carriedSince({ events, through }: Window, known: Known): Folded[] | undefined {
  const place = events.findIndex(({ offset, id }) => offset === known.through - 1 && id === known.lastEventId);
  const since = place < 0 ? [] : events.slice(place + 1);
  if (place < 0 || since.length !== through - known.through) return undefined;
  return since.every(({ offset }, index) => offset === known.through + index) ? since.map(folded) : undefined;
}

/** What of an event concerns the window. */
function folded({ id, author, content, providerItems, compaction }: Folded): Folded {
  return {
    id,
    author,
    content,
    ...(providerItems === undefined ? {} : { providerItems }),
    ...(compaction === undefined ? {} : { compaction }),
  };
}
