import { type Duration, milliseconds } from '../../core/domain/time.ts';
import type { StreamEntry } from '../../core/domain/stream.ts';
import { nonEmpty, type OptionTable, requireKnown, wholeNumber } from '../../define/option-checks.ts';
import { Bell, pause, within } from '../waits.ts';
import type { ReadStreamOptions, StreamChannel, StreamRead, StreamSink, StreamSinkContext } from '../stream-sink.ts';
import {
  compareIds,
  type EntryConverter,
  isStreamId,
  type KeptBounds,
  type ReadItem,
  readItems,
  replyText,
  START,
  streamKey,
  StreamPages,
  streamsOf,
} from './stream-entries.ts';
import { PublishQueue, type QueueBounds } from './publish-queue.ts';
import { describeRedis, pingRedis, type RedisServer, shownAddress } from './redis-server.ts';
import { RedisConnection, redisHost, Trouble } from './redis-connection.ts';

/** The options of a sink in Redis. */
export interface RedisStreamsOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss:` for TLS. */
  url: string;
  /** The prefix of all keys. Default `longhaul`. Workers and clients need the same. */
  prefix?: string;
  /** The approximate number of entries kept per run. Default 10,000. */
  entriesPerRun?: number;
  /** The idle time after which Redis removes the entries of a run. Default 1 hour. */
  keepFor?: Duration;
  /** The most entries that wait to be sent: further ones are dropped. Default 10,000. */
  queuedEntries?: number;
  /** The most bytes that wait to be sent. Default 16 MB. */
  queuedBytes?: number;
}

const OPTIONS: OptionTable<RedisStreamsOptions> = {
  url: true,
  prefix: true,
  entriesPerRun: true,
  keepFor: true,
  queuedEntries: true,
  queuedBytes: true,
};

/**
 * Carries the output of runs between the workers and clients of a fleet through Redis 7 Streams. Needs the package `redis`. Entries
 * are encoded like histories. Throws a UsageError for an address or a bound that cannot be used.
 */
export function redisStreams(options: RedisStreamsOptions): StreamSink {
  requireKnown('redisStreams', options, OPTIONS);
  const { prefix = 'longhaul', entriesPerRun = 10_000, keepFor = '1h', queuedEntries = 10_000, queuedBytes = 16_000_000 } = options;
  const settings: RedisSettings = {
    url: nonEmpty('redisStreams: "url"', options.url),
    shown: redisHost('redisStreams', options.url),
    prefix: nonEmpty('redisStreams: "prefix"', prefix),
    kept: {
      entries: wholeNumber('redisStreams: "entriesPerRun"', entriesPerRun, 1),
      keepMs: milliseconds(keepFor, 'redisStreams: "keepFor"'),
    },
    queue: {
      entries: wholeNumber('redisStreams: "queuedEntries"', queuedEntries, 1),
      bytes: wholeNumber('redisStreams: "queuedBytes"', queuedBytes, 1),
    },
  };
  return { name: 'redis', open: (context) => new RedisChannel(settings, context) };
}

/** The checked options of a sink in Redis. */
interface RedisSettings {
  url: string;
  /** The address without credentials, for messages. */
  shown: string;
  prefix: string;
  kept: KeptBounds;
  queue: QueueBounds;
}

const PING_MS = 2_000;
/** How long a closing channel may send waiting entries. */
const LAST_MS = 2_000;

/** The channel of a worker or a client to the streams of runs in Redis. */
class RedisChannel implements StreamChannel {
  readonly #settings: RedisSettings;
  readonly #namespace: string;
  readonly #closed = new AbortController();
  readonly #commands: RedisConnection;
  readonly #queue: PublishQueue;
  readonly #pages: StreamPages;
  readonly #tails: RunTails;
  #blocking: RedisConnection | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: RedisSettings, { namespace, dataConverter: converter, log, dropped }: StreamSinkContext) {
    const { url, shown, kept, queue: bounds } = settings;
    const trouble = new Trouble(log, dropped);
    this.#settings = settings;
    this.#namespace = namespace;
    this.#commands = new RedisConnection({
      url,
      owner: 'redisStreams',
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

  /** Where the server is, without credentials. */
  get address(): string {
    return shownAddress(this.#settings.url, this.#settings.shown);
  }

  /** False while Redis is down or does not answer: readers then check the Temporal server themselves. */
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
    if (this.#closed.signal.aborted) throw new Error('The sink "redis" is closed');
    await pingRedis(this.#server, this.#closed.signal);
  }

  /** Returns what decides whether the server is suitable for streams: its version and its eviction policy. */
  async server(): Promise<RedisServer> {
    return describeRedis(this.#server, this.#closed.signal);
  }

  get #server(): Parameters<typeof describeRedis>[0] {
    return { connection: this.#commands, shown: this.#settings.shown };
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
    // The other connection already reports the problem.
    const ignore = (): void => undefined;
    return (this.#blocking ??= new RedisConnection({ url: this.#settings.url, owner: 'redisStreams', onAway: ignore, onReady: ignore }));
  }

  #key(runId: string): string {
    return streamKey(this.#settings.prefix, this.#namespace, runId);
  }
}

/** The circumstances of one reader of a run. */
interface RunReader {
  key: string;
  tail: RunTail;
  tails: RunTails;
  pages: StreamPages;
  signal: AbortSignal;
}

/** Yields the entries of a run: from Redis until the reader has caught up, then those that the process receives for all its readers. */
async function* readRun({ key, tail, tails, pages, signal }: RunReader, after: string | undefined): AsyncGenerator<StreamRead> {
  let behind = after !== undefined && isStreamId(after) ? after : START;
  // A reader that has just received `lost` does not receive it again.
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
        // Without entries after it, the place no longer exists: reading starts over with what is kept.
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

/** The context in which streams are followed. */
interface TailContext {
  /** The connection that waits for entries. It is opened with the first reader. */
  blocking: () => RedisConnection;
  /** The connection that unblocks it. */
  commands: RedisConnection;
  pages: StreamPages;
  converter: EntryConverter;
}

const COUNT = 500;
/** How long Redis blocks without entries. A short time quickly shows that Redis does not answer. */
const BLOCK_MS = 2_000;
const ANSWER_MS = BLOCK_MS + 30_000;
const AGAIN_MS = 20;
const RETRY_MS = 200;
/** The pause after an answer, in which entries accumulate: without it, nearly every entry takes a request. */
const GATHER_MS = 4;

class NewConnection extends Error {}

/** Follows the streams of all runs that are read in this process, over one connection. */
class RunTails {
  readonly #context: TailContext;
  readonly #signal: AbortSignal;
  readonly #tails = new Map<string, RunTail>();
  readonly #changed = new Bell();
  /** True if streams were added since the last request, so that the next one is due. */
  #isDue = false;
  #clientId: { epoch: number; id: string } | undefined;
  #isRunning = false;
  #isWaking = false;

  constructor(context: TailContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
  }

  /** Returns the tail of a stream for another reader. */
  join(key: string): RunTail {
    const tail = this.#tails.get(key) ?? new RunTail(key);
    this.#tails.set(key, tail);
    tail.readers += 1;
    return tail;
  }

  leave(tail: RunTail): void {
    tail.readers -= 1;
    // Redis is not told: the next request leaves the stream out.
    if (tail.readers === 0) this.#tails.delete(tail.key);
  }

  /** Follows a stream after an id. */
  follow(tail: RunTail, id: string): void {
    if (this.#signal.aborted) return;
    tail.begin(id);
    this.#isDue = true;
    this.#changed.ring();
    void this.#wake();
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const connection = this.#context.blocking();
    while (!this.#signal.aborted) {
      const followed = new Map(
        [...this.#tails.values()].flatMap((tail) => (tail.last === undefined ? [] : [[tail.key, tail.last] as const])),
      );
      this.#isDue = false;
      if (followed.size === 0) {
        await this.#changed.next(this.#signal);
        continue;
      }
      try {
        await this.#learnId(connection);
        await this.#deliver(followed, await this.#wait(connection, followed));
        await pause(GATHER_MS, this.#signal);
      } catch (error) {
        for (const tail of this.#tails.values()) tail.lose();
        if (!(error instanceof NewConnection)) await pause(RETRY_MS, this.#signal);
      }
    }
  }

  /** Waits for entries after the known ones. */
  async #wait(connection: RedisConnection, followed: ReadonlyMap<string, string>): Promise<Map<string, unknown>> {
    const command = ['XREAD', 'COUNT', String(COUNT), 'BLOCK', String(BLOCK_MS), 'STREAMS', ...followed.keys(), ...followed.values()];
    const late = new Error(`Redis has not answered for ${ANSWER_MS} ms`);
    const answer = within(ANSWER_MS, connection.send(command, { holdMs: BLOCK_MS }), () => late);
    return streamsOf(
      await answer.catch((error: unknown) => {
        if (error === late) connection.restart(late.message);
        throw error;
      }),
    );
  }

  async #deliver(followed: ReadonlyMap<string, string>, streams: ReadonlyMap<string, unknown>): Promise<void> {
    for (const [key, answer] of streams) {
      const since = followed.get(key);
      const tail = this.#tails.get(key);
      if (since === undefined || tail === undefined) continue;
      const items = await readItems(this.#context.converter, answer);
      // A full answer means that this process lags, and entries may have been trimmed: each reader then checks for itself.
      const isCut = items.length >= COUNT && !(await this.#context.pages.hasAllBehind(key, since));
      // A reader may have begun at another place meanwhile.
      if (tail.last !== since) continue;
      if (isCut) tail.lose();
      else tail.append(items);
    }
  }

  /**
   * Fetches the id that another connection needs to unblock this one. Throws for a new connection: Redis may have been restarted since
   * readers found their places.
   */
  async #learnId(connection: RedisConnection): Promise<void> {
    await connection.ready(this.#signal);
    const { epoch } = connection;
    if (this.#clientId?.epoch === epoch) return;
    this.#clientId = { epoch, id: replyText(await connection.send(['CLIENT', 'ID'])) };
    throw new NewConnection();
  }

  /** Unblocks the waiting request, repeatedly, since the request may not have arrived yet. */
  async #wake(): Promise<void> {
    if (this.#isWaking) return;
    this.#isWaking = true;
    const { commands } = this.#context;
    while (this.#isDue && !this.#signal.aborted) {
      await commands.ready(this.#signal);
      const id = this.#clientId?.id;
      if (id !== undefined) await commands.send(['CLIENT', 'UNBLOCK', id]).catch(() => undefined);
      await pause(AGAIN_MS, this.#signal);
    }
    this.#isWaking = false;
  }
}

const MOST_ITEMS = 1_000;
const MOST_BYTES = 1_000_000;

/**
 * The newest entries of a run that is read, for all its readers in this process. A reader that lags further behind reads from Redis, so
 * a slow reader costs nothing here.
 */
class RunTail {
  readonly key: string;
  /** Rings for new entries, or if readers must read from Redis. */
  readonly bell = new Bell();
  readers = 0;
  #generation = 0;
  #items: ReadItem[] = [];
  #bytes = 0;
  /** The items are complete from this id on. Undefined while the stream is not followed. */
  #from: string | undefined;
  #last = '';

  constructor(key: string) {
    this.key = key;
  }

  /** Changes when the stream is followed from another place. Only Redis knows whether an earlier or foreign id belongs to the stream. */
  get generation(): number {
    return this.#generation;
  }

  /** The id of the newest entry; undefined while the stream is not followed. */
  get last(): string | undefined {
    return this.#from === undefined ? undefined : this.#last;
  }

  /** Returns the entries after an id; undefined if only Redis knows them. */
  behind(id: string): readonly ReadItem[] | undefined {
    if (this.#from === undefined || compareIds(id, this.#from) < 0 || compareIds(id, this.#last) > 0) return undefined;
    // Searched from the end: most readers lack only the newest entries.
    return this.#items.slice(this.#items.findLastIndex((one) => compareIds(one.id, id) <= 0) + 1);
  }

  /** Begins to follow the stream after an id. */
  begin(id: string): void {
    this.#generation += 1;
    this.#from = id;
    this.#last = id;
    this.#items = [];
    this.#bytes = 0;
    this.bell.ring();
  }

  /** Appends entries, and forgets the oldest ones beyond the bounds. */
  append(items: readonly ReadItem[]): void {
    this.#items.push(...items);
    for (const { id, bytes } of items) {
      this.#last = id;
      this.#bytes += bytes;
    }
    let count = 0;
    while (this.#items.length - count > MOST_ITEMS || this.#bytes > MOST_BYTES) {
      const oldest = this.#items[count];
      if (oldest === undefined) break;
      this.#from = oldest.id;
      this.#bytes -= oldest.bytes;
      count += 1;
    }
    this.#items.splice(0, count);
    this.bell.ring();
  }

  /** Stops following the stream: readers have to find their place in Redis again. */
  lose(): void {
    this.#generation += 1;
    this.#from = undefined;
    this.#items = [];
    this.#bytes = 0;
    this.bell.ring();
  }
}
