import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import type { FakeRun } from './fake-run.ts';

export type { StreamItem };

/** The readers of a run in one process. */
export interface Readers {
  stream(cursor?: string, signal?: AbortSignal): AsyncGenerator<StreamItem>;
}

/** Returns a process that reads a fake run: its readers share one feed. */
export function feedsOf(run: FakeRun): Readers {
  let feed = new RunFeed(run.sources());
  return {
    stream: (cursor, signal) => {
      const feeds = {
        follow: () => {
          if (feed.isOver) feed = new RunFeed(run.sources());
          return { feed, release: () => undefined };
        },
      };
      return streamRun(feeds, 'run-1', { ...(cursor === undefined ? {} : { cursor }), ...(signal === undefined ? {} : { signal }) });
    },
  };
}
