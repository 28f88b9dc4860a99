import { randomBytes } from 'node:crypto';
import type { StreamEntry } from '../core/domain/stream.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type OptionTable, requireKnown, wholeNumber } from '../define/option-checks.ts';
import type { ReadStreamOptions, StreamChannel, StreamRead, StreamSink, StreamSinkContext } from './stream-sink.ts';
import { BoundedLog, type LogBounds } from './waits.ts';

/** The bounds of the entries that `memoryStreams()` keeps. */
export interface MemoryStreamsOptions {
  /** The most entries of one run. Default 10,000. */
  entriesPerRun?: number;
  /** The most bytes of one run. Default 4 MB. */
  bytesPerRun?: number;
  /** The most runs. Those that have been silent for the longest time are dropped first. Default 10,000. */
  runs?: number;
  /** The most bytes of all runs together. Default 256 MB. */
  bytes?: number;
  /** The idle time after which the entries of a run are dropped. Default 10 minutes. */
  idleFor?: Duration;
}

const OPTIONS: OptionTable<MemoryStreamsOptions> = {
  entriesPerRun: true,
  bytesPerRun: true,
  runs: true,
  bytes: true,
  idleFor: true,
};

/**
 * Carries the output of runs inside one process, for `longhaul dev`, tests, and a server whose worker is in the same process. Give the same
 * sink to the worker and the client. Throws a UsageError for a bound that is not a whole number.
 */
export function memoryStreams(options: MemoryStreamsOptions = {}): StreamSink {
  requireKnown('memoryStreams', options, OPTIONS);
  const { entriesPerRun = 10_000, bytesPerRun = 4_000_000, runs = 10_000, bytes = 256_000_000, idleFor = '10m' } = options;
  const hub = new StreamHub({
    perRun: {
      entries: wholeNumber('memoryStreams: "entriesPerRun"', entriesPerRun, 1),
      bytes: wholeNumber('memoryStreams: "bytesPerRun"', bytesPerRun, 1),
    },
    runs: wholeNumber('memoryStreams: "runs"', runs, 1),
    bytes: wholeNumber('memoryStreams: "bytes"', bytes, 1),
    idleMs: timerMilliseconds(idleFor, 'memoryStreams: "idleFor"'),
  });
  return { name: 'memory', withinProcess: true, open: (context) => new MemoryChannel(hub, context) };
}

/** The channel of a worker or a client to its process's hub. */
class MemoryChannel implements StreamChannel {
  readonly #hub: StreamHub;
  readonly #namespace: string;
  readonly #closed = new AbortController();
  readonly #leave: () => void;

  constructor(hub: StreamHub, { namespace, client }: StreamSinkContext) {
    this.#hub = hub;
    this.#namespace = namespace;
    this.#leave = client === undefined ? hub.addWorker(namespace) : () => undefined;
  }

  /**
   * True while a worker of this process has opened the sink. Without a worker nothing is ever published, so a reader has to wait for
   * news from the server. When the last worker closes, readers get `lost`, since nothing more will be announced.
   */
  get announces(): boolean {
    return this.#hub.hasWorker(this.#namespace);
  }

  publish(runId: string, entry: StreamEntry): void {
    if (this.#closed.signal.aborted) return;
    try {
      // The caller may still modify the objects.
      this.#hub.publish(this.#key(runId), structuredClone(entry));
    } catch {
      // An entry that cannot be copied, or has another form, must not fail the call.
    }
  }

  async *read(runId: string, { after, signal: given }: ReadStreamOptions): AsyncGenerator<StreamRead> {
    const key = this.#key(runId);
    const log = this.#hub.log(key);
    log.readers += 1;
    try {
      yield* this.#readLog(log, after, AbortSignal.any([given, this.#closed.signal]));
    } finally {
      log.readers -= 1;
      this.#hub.release(key);
    }
  }

  removeRun(runId: string): Promise<void> {
    this.#hub.remove(this.#key(runId));
    return Promise.resolve();
  }

  health(): Promise<void> {
    return this.#closed.signal.aborted ? Promise.reject(new Error('The sink "memory" is closed')) : Promise.resolve();
  }

  close(): Promise<void> {
    if (!this.#closed.signal.aborted) this.#leave();
    this.#closed.abort();
    return Promise.resolve();
  }

  async *#readLog(log: RunLog, after: string | undefined, signal: AbortSignal): AsyncGenerator<StreamRead> {
    const position = (next: number): string => `${this.#hub.id}.${log.id}.${next}`;
    // -1 is before the first entry of any log, so it counts as dropped.
    let next = after === undefined ? 0 : (this.#indexIn(log, after) ?? -1);
    let { withdrawn } = this.#hub;
    while (!signal.aborted) {
      const entry = log.at(next);
      if (next < log.first || next < 0 || withdrawn !== this.#hub.withdrawn) {
        next = Math.max(next, log.first);
        ({ withdrawn } = this.#hub);
        yield { type: 'lost', position: position(next) };
      } else if (entry === undefined) {
        await log.bell.next(signal);
      } else {
        next += 1;
        yield { type: 'entry', position: position(next), entry };
      }
    }
  }

  /** Returns the index after a position; undefined for a position of another hub, or of an earlier log of the run. */
  #indexIn(log: RunLog, position: string): number | undefined {
    const [hub, id, next, ...rest] = position.split('.');
    if (hub !== this.#hub.id || id !== String(log.id) || !/^\d+$/.test(next ?? '') || rest.length > 0) return undefined;
    return Number(next) <= log.next ? Number(next) : undefined;
  }

  #key(runId: string): string {
    return JSON.stringify([this.#namespace, runId]);
  }
}

/** The bounds of the entries of all runs. */
interface HubBounds {
  perRun: LogBounds;
  runs: number;
  bytes: number;
  idleMs: number;
}

/** The entries of all runs of one process, and its workers. */
class StreamHub {
  /** Unique among the hubs of all processes. */
  readonly id = randomBytes(9).toString('base64url');
  readonly #bounds: HubBounds;
  /** The logs of runs, most recently used last. */
  readonly #logs = new Map<string, RunLog>();
  readonly #workers = new Map<string, number>();
  #bytes = 0;
  #created = 0;
  #withdrawn = 0;
  #isSweeping = false;

  constructor(bounds: HubBounds) {
    this.#bounds = bounds;
  }

  /** Increases each time the last worker of a namespace closes: from then on, its readers wait for news elsewhere. */
  get withdrawn(): number {
    return this.#withdrawn;
  }

  /** True if a worker of this process publishes about runs of the namespace. */
  hasWorker(namespace: string): boolean {
    return this.#workers.has(namespace);
  }

  /** Counts a worker. Returns the function that ends its work. */
  addWorker(namespace: string): () => void {
    this.#workers.set(namespace, (this.#workers.get(namespace) ?? 0) + 1);
    return () => {
      const left = (this.#workers.get(namespace) ?? 0) - 1;
      if (left > 0) this.#workers.set(namespace, left);
      else this.#withdraw(namespace);
    };
  }

  publish(key: string, entry: StreamEntry): void {
    const log = this.log(key);
    const before = log.bytes;
    log.usedAt = Date.now();
    this.#logs.delete(key);
    this.#logs.set(key, log);
    log.append(entry, entrySize(entry), this.#bounds.perRun);
    this.#bytes += log.bytes - before;
    this.#dropOldest();
    this.#sweepLater();
  }

  /** Returns the log of a run, creating it if needed. */
  log(key: string): RunLog {
    const known = this.#logs.get(key);
    if (known !== undefined) return known;
    this.#created += 1;
    const made = new RunLog(this.#created);
    this.#logs.set(key, made);
    return made;
  }

  /** Forgets a log that has neither entries nor readers. */
  release(key: string): void {
    const log = this.#logs.get(key);
    if (log?.readers === 0 && log.first === log.next) this.#logs.delete(key);
  }

  /** Drops the entries of a run, if there are any. */
  remove(key: string): void {
    const log = this.#logs.get(key);
    if (log !== undefined) this.#drop(key, log);
  }

  #withdraw(namespace: string): void {
    this.#workers.delete(namespace);
    this.#withdrawn += 1;
    for (const log of this.#logs.values()) log.bell.ring();
  }

  #dropOldest(): void {
    for (const [key, log] of this.#logs) {
      const isFull = this.#bytes > this.#bounds.bytes;
      if (!isFull && this.#logs.size <= this.#bounds.runs) return;
      if (isFull || log.readers === 0) this.#drop(key, log);
    }
  }

  /** Drops the entries of a run. Its readers keep the log, which is then empty. */
  #drop(key: string, log: RunLog): void {
    this.#bytes -= log.bytes;
    if (log.readers === 0) this.#logs.delete(key);
    log.clear();
  }

  #sweepLater(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    setTimeout(() => {
      this.#isSweeping = false;
      const before = Date.now() - this.#bounds.idleMs;
      for (const [key, log] of this.#logs) if (log.usedAt <= before) this.#drop(key, log);
      if (this.#bytes > 0) this.#sweepLater();
    }, this.#bounds.idleMs / 2).unref();
  }
}

/** The newest entries of one run, and its number of readers. */
class RunLog extends BoundedLog<StreamEntry> {
  /** Unique among the logs of the process, also for one run: the same index means different entries in each log. */
  readonly id: number;
  /** The number of readers. */
  readers = 0;
  /** The time of the last entry. */
  usedAt = Date.now();

  constructor(id: number) {
    super();
    this.id = id;
  }
}

/** Approximate bytes of an entry besides its content. */
const ENTRY_OVERHEAD_BYTES = 400;
const BYTES_PER_CHARACTER = 2;

/** Returns about how many bytes of memory an entry takes. */
function entrySize(entry: StreamEntry): number {
  if (entry.type !== 'delta') return ENTRY_OVERHEAD_BYTES;
  const { delta } = entry;
  const characters = delta.type === 'data' ? (JSON.stringify(delta.data)?.length ?? 0) : delta.text.length;
  return ENTRY_OVERHEAD_BYTES + characters * BYTES_PER_CHARACTER;
}
