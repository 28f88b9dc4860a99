import type { Event } from '../../core/domain/record/event.ts';
import { isTerminal } from '../../core/domain/run/run-status.ts';
import type { ContextPage } from '../../core/protocol.ts';
import { sleep } from '../../temporal/waiting.ts';

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
  /** The answer of the run's newest execution; undefined where no worker answers. */
  page(from: number): Promise<ContextPage | undefined>;
  /** What the answer lacks, from history; without an answer all that history has from there on. */
  recorded(from: number, answer: ContextPage | undefined): AsyncGenerator<Event[]>;
  closed(): Promise<boolean>;
}

/** Asked often while things happen, seldom while nothing does: an idle run must not keep its worker busy. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Events by offset until the end of the record or, following, of the run. */
export async function* followEvents(source: EventSource, options: FollowOptions): AsyncGenerator<Event> {
  const { follow = false, signal } = options;
  let offset = options.from ?? 0;
  let wait = SHORTEST_PAUSE_MS;
  let silent = false;
  for (;;) {
    signal?.throwIfAborted();
    // Asked before anything is read: what is recorded up to the end is then in what is read.
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

/** True where the page begins where it was asked to, and is not empty because of an event too large for any answer. */
export function answers(page: ContextPage, from: number): boolean {
  return from >= page.firstOffset && (page.events.length > 0 || from >= page.total);
}
