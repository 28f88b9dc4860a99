import type { StreamRead } from '../stream-sink.ts';
import type { RunTail } from './run-tail.ts';
import type { RunTails } from './run-tails.ts';
import { isStreamId, START } from './stream-id.ts';
import type { StreamPages } from './stream-pages.ts';

/** The circumstances of one reader of a run. */
export interface RunReader {
  key: string;
  tail: RunTail;
  tails: RunTails;
  pages: StreamPages;
  signal: AbortSignal;
}

/** Yields the entries of a run: from Redis until the reader has found its place, and then those that the process receives for all its readers. */
export async function* readRun({ key, tail, tails, pages, signal }: RunReader, after: string | undefined): AsyncGenerator<StreamRead> {
  let behind = after !== undefined && isStreamId(after) ? after : START;
  // A reader that has just been told that entries are missing is not told again.
  let fromStart = after === undefined;
  let { restarts } = pages;
  /** The generation of the tail to which `behind` belongs. */
  let placed: number | undefined;
  if (behind === START && !fromStart && !signal.aborted) yield { type: 'lost' };
  while (!signal.aborted) {
    let items = placed === tail.generation ? tail.behind(behind) : undefined;
    if (items === undefined) {
      const page = await pages.read({ key, behind, fromStart }, signal);
      if (page === undefined) return;
      if (page.isLost || restarts !== pages.restarts) {
        ({ restarts } = pages);
        // Without entries behind it, the place does not exist any more: what is kept begins at the start.
        if (page.isLost && page.items.length === 0) behind = START;
        yield { type: 'lost', ...(behind === START ? {} : { position: behind }) };
        fromStart = false;
      }
      ({ items } = page);
      const last = items.at(-1)?.id ?? behind;
      if (page.isEnd && tail.behind(last) === undefined) tails.follow(tail, last);
      placed = page.isEnd ? tail.generation : undefined;
    } else if (items.length === 0) {
      await tail.bell.next(signal);
    }
    for (const { id, read } of items) {
      if (signal.aborted) return;
      behind = id;
      yield read;
    }
  }
}
