import type { Event } from '../src/domain/event.ts';
import { emptyWindow, type Folded } from '../src/domain/window.ts';
import { jsonBytes } from '../src/domain/payload-limit.ts';
import type { RunState } from '../src/loop/run-state.ts';
import { PAGE_BYTES, type TranscriptAnswer, type TranscriptQuestion } from '../src/protocol.ts';
import { page } from './pages.ts';

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
 * The events after the asker's last, where that one is in the record of this execution or right before it. A batch of
 * results may be larger than what compaction has left of it: then the window is less to send.
 */
function eventsSince(state: RunState, { through, lastEventId }: TranscriptQuestion['known'][number]): Folded[] | undefined {
  const { context, firstOffset, carriedEventId } = state;
  const place = through - firstOffset;
  const known = place === 0 ? carriedEventId : context.events[place - 1]?.id;
  if (known === undefined || known !== lastEventId) return undefined;
  const events = context.events.slice(place).map(folded);
  return jsonBytes(events) > PAGE_BYTES ? undefined : events;
}

/** What of an event concerns the window. */
function folded({ id, author, content, providerItems, compaction }: Event): Folded {
  return {
    id,
    author,
    content,
    ...(providerItems === undefined ? {} : { providerItems }),
    ...(compaction === undefined ? {} : { compaction }),
  };
}
