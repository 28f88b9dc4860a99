import type { Client } from '@temporalio/client';
import { WAITS_STREAM } from '../../core/domain/stream.ts';
import type { ReadStreamOptions, StreamChannel, StreamRead, StreamSink } from '../../streams/stream-sink.ts';
import { errorMessage, LonghaulError } from '../../core/domain/errors.ts';
import { closedClientError } from '../../temporal/server-calls.ts';
import { feedSources, RunFeed } from './run-feed.ts';

/** How long a feed without readers continues: a reader that was disconnected is back soon. */
const LINGER_MS = 2_000;

/** The options of the feeds of a client. */
interface FeedOptions {
  /** The sink that carries live output. Absent: readers see only the record. */
  sink?: StreamSink | undefined;
  /** Writes a line for the operator. */
  log?: (line: string) => void;
}

interface FollowedFeed {
  feed: RunFeed;
  readers: number;
  /** Stops the feed some time after its last reader has gone. */
  timer?: NodeJS.Timeout;
}

/** The feeds of runs in this process: one for each followed run, however many readers it has. */
export class RunFeeds {
  readonly #client: Client;
  readonly #sink: StreamSink | undefined;
  readonly #log: (line: string) => void;
  readonly #feeds = new Map<string, FollowedFeed>();
  #channel: StreamChannel | undefined;
  #isClosed = false;

  constructor(client: Client, { sink, log = () => undefined }: FeedOptions = {}) {
    this.#client = client;
    this.#sink = sink;
    this.#log = log;
  }

  /** Returns the feed of a run for a reader, which must release it. */
  follow(runId: string): { feed: RunFeed; release: () => void } {
    const known = this.#feeds.get(runId);
    const isNew = known === undefined || known.feed.isOver;
    const one = isNew ? { feed: new RunFeed(feedSources(this.#client, runId, this.#open())), readers: 0 } : known;
    this.#feeds.set(runId, one);
    one.readers += 1;
    return { feed: one.feed, release: () => this.#release(runId, one) };
  }

  /**
   * Returns a function that yields an entry whenever a run begins to wait for a decision, or for another one. Undefined if
   * the sink does not announce this.
   */
  waits(): ((options: ReadStreamOptions) => AsyncIterable<StreamRead>) | undefined {
    // A heartbeat sink would look for a run with this id on the server.
    if (this.#sink === undefined || this.#sink.heartbeatEveryMs !== undefined) return undefined;
    const channel = this.#open();
    return channel && ((options) => channel.read(WAITS_STREAM, options));
  }

  /** Resolves if the sink can carry live output at this moment, or at once if there is no sink. */
  async health(): Promise<void> {
    await this.#open()?.health();
  }

  /** Removes the live output that the sink, if any, keeps of a run. Rejects with `streams_failed` if the sink cannot be reached. */
  async removeRun(runId: string): Promise<void> {
    const channel = this.#open();
    try {
      await channel?.removeRun(runId);
    } catch (error) {
      throw new LonghaulError(
        'streams_failed',
        `The live output of run "${runId}" was not removed from the sink "${this.#sink?.name ?? ''}": ${errorMessage(error)}. Try again once it can be reached`,
      );
    }
  }

  /** Ends all feeds, and closes the sink. After that, `follow` throws a UsageError. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { feed } of this.#feeds.values()) feed.stop(closedClientError());
    this.#feeds.clear();
    await this.#channel?.close();
    this.#channel = undefined;
  }

  #release(runId: string, one: FollowedFeed): void {
    one.readers -= 1;
    if (one.readers > 0) return;
    clearTimeout(one.timer);
    one.timer = setTimeout(() => {
      if (one.readers > 0) return;
      one.feed.stop();
      if (this.#feeds.get(runId) === one) this.#feeds.delete(runId);
    }, LINGER_MS);
    one.timer.unref();
  }

  #open(): StreamChannel | undefined {
    if (this.#isClosed) throw closedClientError();
    const { namespace, loadedDataConverter } = this.#client.options;
    this.#channel ??= this.#sink?.open({ namespace, dataConverter: loadedDataConverter, client: this.#client, log: this.#log });
    return this.#channel;
  }
}
