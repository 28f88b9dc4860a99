import { UsageError } from '../../core/domain/errors/error.ts';
import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { ReadStreamOptions, StreamChannel, StreamRead, StreamSinkContext } from '../stream-sink.ts';
import { within } from '../bounded-wait.ts';
import { readRun } from './read-run.ts';
import { PublishQueue, type QueueBounds } from './publish-queue.ts';
import { RedisConnection } from './redis-connection.ts';
import { RunTails } from './run-tails.ts';
import { type KeptBounds, streamKey } from './stream-commands.ts';
import { StreamPages } from './stream-pages.ts';
import { Trouble } from './trouble.ts';

/** The checked options of a sink in Redis. */
export interface RedisSettings {
  url: string;
  /** The address without credentials, for messages. */
  shown: string;
  prefix: string;
  kept: KeptBounds;
  queue: QueueBounds;
}

const PING_MS = 2_000;
/** The time in which a channel that is closed sends what waits. */
const LAST_MS = 2_000;

/** The channel of a worker or a client to the streams of runs in Redis. */
export class RedisChannel implements StreamChannel {
  readonly #settings: RedisSettings;
  readonly #namespace: string;
  readonly #closed = new AbortController();
  readonly #commands: RedisConnection;
  readonly #queue: PublishQueue;
  readonly #pages: StreamPages;
  readonly #tails: RunTails;
  #blocking: RedisConnection | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: RedisSettings, { namespace, dataConverter: converter, log }: StreamSinkContext) {
    const { url, shown, kept, queue: bounds } = settings;
    const trouble = new Trouble(log);
    this.#settings = settings;
    this.#namespace = namespace;
    this.#commands = new RedisConnection({
      url,
      onAway: (reason) => trouble.away(`Redis at "${shown}" cannot be used: ${reason}`),
      onReady: () => trouble.back(),
    });
    this.#queue = new PublishQueue({ connection: this.#commands, converter, trouble, bounds, kept });
    this.#pages = new StreamPages(this.#commands, converter, log);
    this.#tails = new RunTails(
      { blocking: () => this.#openBlocking(), commands: this.#commands, pages: this.#pages, converter },
      this.#closed.signal,
    );
  }

  /** False while Redis is away or does not answer: readers then look at the server themselves. */
  get announces(): boolean {
    return this.#commands.answers && (this.#blocking?.answers ?? true);
  }

  publish(runId: string, entry: StreamEntry): void {
    this.#queue.push(this.#key(runId), entry);
  }

  async *read(runId: string, { after, signal }: ReadStreamOptions): AsyncGenerator<StreamRead> {
    const key = this.#key(runId);
    const tail = this.#tails.join(key);
    try {
      yield* readRun({ key, tail, tails: this.#tails, pages: this.#pages, signal: AbortSignal.any([signal, this.#closed.signal]) }, after);
    } finally {
      this.#tails.leave(tail);
    }
  }

  async removeRun(runId: string): Promise<void> {
    await this.health();
    const late = (): Error => new Error(`Redis at "${this.#settings.shown}" did not remove the stream of run "${runId}" in time`);
    await within(PING_MS, this.#commands.send(['DEL', this.#key(runId)]), late);
  }

  async health(): Promise<void> {
    const { shown } = this.#settings;
    if (this.#closed.signal.aborted) throw new Error('The sink "redis" is closed');
    const late = (): Error => {
      const { problem } = this.#commands;
      return problem instanceof UsageError ? problem : new Error(`Redis at "${shown}" does not answer: ${problem.message}`);
    };
    await within(PING_MS, this.#commands.ready(this.#closed.signal), late);
    await within(PING_MS, this.#commands.send(['PING']), late);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await this.#queue.close(LAST_MS);
    this.#blocking?.close();
    this.#commands.close();
  }

  #openBlocking(): RedisConnection {
    // Its trouble is that of the other connection.
    const ignore = (): void => undefined;
    return (this.#blocking ??= new RedisConnection({ url: this.#settings.url, onAway: ignore, onReady: ignore }));
  }

  #key(runId: string): string {
    return streamKey(this.#settings.prefix, this.#namespace, runId);
  }
}
