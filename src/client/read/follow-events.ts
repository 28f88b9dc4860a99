import type { Event } from '../../core/domain/record.ts';
import { isTerminal } from '../../core/domain/run.ts';
import type { ContextPage } from '../../core/protocol.ts';
import { sleep } from '../../temporal/waiting.ts';

/** The options of reading events. */
export interface FollowOptions {
  /** The offset of the first event to read. Default 0. */
  from?: number;
  /** True to wait for further events until the run ends. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** The sources that `followEvents` reads from. */
export interface EventSource {
  /** Returns the answer of the run's newest execution; undefined if no worker answers. */
  page(from: number): Promise<ContextPage | undefined>;
  /** Reads from history the events that the answer lacks; without an answer, all events from the offset on. */
  recorded(from: number, answer: ContextPage | undefined): AsyncGenerator<Event[]>;
  closed(): Promise<boolean>;
}

/** The pauses between two queries: short while events come, long while none do, since an idle run must not keep its worker busy. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Yields events by offset until the end of the record or, if it follows, of the run. */
export async function* followEvents(source: EventSource, options: FollowOptions): AsyncGenerator<Event> {
  const { follow = false, signal } = options;
  let offset = options.from ?? 0;
  let wait = SHORTEST_PAUSE_MS;
  let silent = false;
  for (;;) {
    signal?.throwIfAborted();
    // Asked before anything is read: the events up to the end are then among those that are read.
    const ended = (silent || wait > SHORTEST_PAUSE_MS) && (await source.closed());
    const before = offset;
    const page = await source.page(offset);
    for await (const events of page !== undefined && answers(page, offset) ? [page.events] : source.recorded(offset, page)) {
      for (const event of events) {
        signal?.throwIfAborted();
        yield event;
      }
      offset += events.length;
    }
    silent = page === undefined;
    // History alone does not say whether there is more to come.
    const isAll = page === undefined ? !follow || ended || offset === before : offset >= page.total;
    if (!isAll) continue;
    if (!follow || ended || (page !== undefined && isTerminal(page.status))) return;
    wait = offset > before ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await sleep(wait, signal);
  }
}

/** True if the page begins at the requested offset, and is not empty because of an event too large for an answer. */
export function answers(page: ContextPage, from: number): boolean {
  return from >= page.firstOffset && (page.events.length > 0 || from >= page.total);
}
