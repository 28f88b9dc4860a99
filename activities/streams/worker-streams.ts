import type { LoadedDataConverter } from '@temporalio/common';
import { LRUCache } from 'lru-cache';
import { errorMessage, UsageError } from '../../src/core/domain/errors.ts';
import type { StreamEntry } from '../../src/core/domain/stream.ts';
import type { PublishingActivity, StreamChannel, StreamSink } from '../../src/streams/stream-sink.ts';
import { withTimeout } from '../attempts/attempt.ts';

/** The time limit for a sink to send pending entries when the worker has drained. */
const CLOSE_MS = 10_000;

/** The streams of a worker: a sink that is open while at least one Temporal Worker runs. */
export class WorkerStreams {
  /** Whether executions were started with `live: true`. */
  readonly live = new LRUCache<string, boolean>({ max: 10_000 });
  readonly #sink: StreamSink;
  readonly #log: (line: string) => void;
  readonly #dropped: (entries: number) => void;
  #channel: StreamChannel | undefined;
  #users = 0;
  #hasThrown = false;

  /** `dropped` counts entries that no reader will get. Throws a UsageError for a value that is not a sink. */
  constructor(sink: StreamSink, log: (line: string) => void, dropped: (entries: number) => void = () => undefined) {
    if (!isSink(sink)) {
      throw new UsageError('the worker: "streams" is not a sink: write memoryStreams(), redisStreams({url}) or heartbeatStreams()');
    }
    this.#sink = sink;
    this.#log = log;
    this.#dropped = dropped;
  }

  /** Milliseconds between two heartbeats of the sink for a live call; undefined if it sends none. */
  get heartbeatMs(): number | undefined {
    return this.#sink.heartbeatEveryMs;
  }

  get usesHeartbeats(): boolean {
    return this.heartbeatMs !== undefined;
  }

  /** Opens the sink, unless it is open. Call `close` afterwards, also if this throws. */
  open(namespace: string, dataConverter: LoadedDataConverter): void {
    this.#users += 1;
    this.#channel ??= this.#sink.open({ namespace, dataConverter, log: this.#log, dropped: this.#dropped });
  }

  /** Closes the sink, unless another worker still uses it. Never rejects. */
  async close(): Promise<void> {
    this.#users -= 1;
    const channel = this.#channel;
    if (this.#users > 0 || channel === undefined) return;
    this.#channel = undefined;
    try {
      await withTimeout(() => channel.close(), { ms: CLOSE_MS });
    } catch (error) {
      this.#log(`The sink "${this.#sink.name}" of streams did not close: ${errorMessage(error)}`);
    }
  }

  /** Publishes an entry. Does nothing while the sink is closed, and never throws: a stream must not fail a call. */
  publish(runId: string, entry: StreamEntry, activity?: PublishingActivity): void {
    try {
      this.#channel?.publish(runId, entry, activity);
    } catch (error) {
      this.#dropped(1);
      if (this.#hasThrown) return;
      this.#hasThrown = true;
      this.#log(`The sink "${this.#sink.name}" of streams throws, so readers miss its output: ${errorMessage(error)}`);
    }
  }
}

function isSink(value: unknown): value is StreamSink {
  if (typeof value !== 'object' || value === null) return false;
  const { name, open } = value as Partial<Record<keyof StreamSink, unknown>>;
  return typeof name === 'string' && name !== '' && typeof open === 'function';
}
