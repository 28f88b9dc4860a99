import { RunFeed, type FeedSources } from '../../../src/client/stream/run-feed.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import { completesStep } from '../../../src/core/domain/record.ts';
import type { StreamEntry } from '../../../src/core/domain/stream.ts';
import type { StreamRead, StreamSink } from '../../../src/streams/stream-sink.ts';
import { endOf, type KitRun, type PlayedRun, runWithKit } from './kit-run.ts';

/** A sink that keeps what the worker publishes, in its order. */
class RecordingSink implements StreamSink {
  readonly name = 'recording';
  readonly entries: StreamEntry[] = [];

  open(): ReturnType<StreamSink['open']> {
    return {
      announces: false,
      publish: (_, entry) => void this.entries.push(entry),
      read: async function* nothing() {},
      removeRun: () => Promise.resolve(),
      health: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
}

/** Runs an agent, and returns all items of its stream, as a reader gets them that follows it from the beginning. */
export async function streamWithKit(run: Omit<KitRun, 'streams'>): Promise<StreamItem[]> {
  const sink = new RecordingSink();
  const played = await runWithKit({ ...run, streams: sink });
  const feed = new RunFeed(sourcesOf(played, sink.entries));
  const items: StreamItem[] = [];
  const reading = streamRun({ follow: () => ({ feed, release: () => undefined }) }, endOf(played).runId, {});
  for await (const item of reading) items.push(item);
  return items;
}

/** Returns what the product reads a stream by: the record, which grows as it did during the run, and the published entries. */
function sourcesOf(played: PlayedRun, entries: readonly StreamEntry[]): FeedSources {
  const { events, steps } = played;
  const { runId, ...result } = endOf(played).toJSON();
  let recorded = 0;
  let closed = false;
  const visibleSteps = () => (closed ? steps : steps.slice(0, events.slice(0, recorded).filter(completesStep).length));
  const page: FeedSources['pages']['read'] = async ({ offset, step }) => ({
    events: events.slice(offset, recorded),
    steps: visibleSteps().slice(step),
    isLast: true,
    status: closed ? result.status : 'running',
  });
  const executionId = entries.flatMap((entry) => ('of' in entry ? [entry.of.executionId] : [entry.executionId]))[0] ?? runId;
  return {
    pages: { read: page, shared: page, ended: () => undefined, end: async () => ({ offset: 0, step: 0, status: 'running' }) },
    news: { gatherMs: 0, pauseMs: () => 1, look: async () => ({ executionId, closed, isNew: true }) },
    executions: async () => ({ ids: [executionId], isComplete: true }),
    newest: async () => ({ executionId, closed }),
    result: async () => ({ ...result, runId, output: result.output as never }),
    announced: () => true,
    async *live(): AsyncGenerator<StreamRead> {
      for (const [index, entry] of entries.entries()) {
        if ('of' in entry) recorded = Math.max(recorded, entry.of.through ?? 0);
        yield { type: 'entry', position: String(index), entry };
      }
      recorded = events.length;
      closed = true;
    },
  };
}
