import type { Event } from '../domain/event.ts';
import { isTerminal } from '../domain/run-status.ts';
import type { ContextPage } from '../protocol.ts';
import { pause } from './waiting.ts';

/** How events are read. */
export interface FollowOptions {
  /** Offset of the first event wanted. Default 0. */
  from?: number;
  /** Wait for more until the run ends. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** What `followEvents` reads from. */
export interface EventSource {
  context(options: { from: number }): Promise<ContextPage>;
}

/** Asked often while things happen, seldom while nothing does: an idle run must not keep its worker busy. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Events by offset, page by page, until the end of the record or, following, of the run. */
export async function* followEvents(source: EventSource, closed: () => Promise<boolean>, options: FollowOptions): AsyncGenerator<Event> {
  const { follow = false, signal } = options;
  let offset = options.from ?? 0;
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    signal?.throwIfAborted();
    // Asked before the page is read: what is recorded up to the end is then in the page.
    const ended = wait > SHORTEST_PAUSE_MS && (await closed());
    const page = await source.context({ from: offset });
    yield* page.events;
    offset += page.events.length;
    if (offset < page.total) continue;
    if (!follow || ended || isTerminal(page.status)) return;
    wait = page.events.length > 0 ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await pause(wait, signal);
  }
}
