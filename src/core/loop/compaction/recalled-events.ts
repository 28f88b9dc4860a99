// Model phase: the entries of a memory that a compaction takes out.

import { isRecall } from '../../domain/memory/recalled.ts';
import type { Window, WindowEvent } from '../../domain/record/window.ts';

/** Returns the offsets of the events with entries that were recalled for an earlier turn: they are dropped before anything else. */
export function recalledBeforeTurn(window: Pick<Window, 'events'>): number[] {
  return recalledBefore(window, window.events.findLast(isMessageOfUser)?.offset ?? 0);
}

/** Returns the offsets of the events with recalled entries before an offset. */
export function recalledBefore({ events }: Pick<Window, 'events'>, offset: number): number[] {
  return events.filter((event) => event.offset < offset && isRecall(event)).map((event) => event.offset);
}

function isMessageOfUser(event: WindowEvent): boolean {
  return event.author === 'user' && event.content.some((item) => item.type === 'message' && item.role === 'user');
}
