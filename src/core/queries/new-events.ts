import { jsonBytes } from '../domain/json/payload-limit.ts';
import { sha256 } from '../domain/json/sha256.ts';
import { foldedEvent } from '../domain/record/window.ts';
import type { ModelCall } from '../loop/ports.ts';
import type { RunState } from '../loop/state/run-state.ts';
import type { NewEvents } from '../protocol.ts';

/** The most bytes of JSON that are handed over. The digest of more would cost the sandbox as much as the query that it saves. */
const MOST_BYTES = 64_000;

/**
 * Returns the events that a model call is the first to be given, for the process of the worker; undefined if activities of that process
 * have most likely made all of them, or if they are many.
 */
export function newEvents(state: RunState | undefined, { through, resultIds }: ModelCall): NewEvents | undefined {
  if (state === undefined || resultIds !== undefined) return undefined;
  const { context, firstOffset, carriedEventId, seenEvents } = state;
  const index = Math.max(0, seenEvents - firstOffset);
  const sinceEventId = index === 0 ? (carriedEventId ?? '') : context.events[index - 1]?.id;
  const events = context.events.slice(index).map(foldedEvent);
  if (sinceEventId === undefined || events.length === 0 || jsonBytes(events) > MOST_BYTES) return undefined;
  return { since: through - events.length, sinceEventId, events, digest: digestOf(events) };
}

/** Returns 64 bits of the SHA-256 of events, in hexadecimal digits. */
function digestOf(events: NewEvents['events']): string {
  const [first = 0, second = 0] = sha256(JSON.stringify(events));
  return first.toString(16).padStart(8, '0') + second.toString(16).padStart(8, '0');
}
