import { randomBytes } from 'node:crypto';
import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import { entrySize } from '../entry-size.ts';
import { type LogBounds, RunLog } from './run-log.ts';

/** The bounds of the entries of all runs. */
export interface HubBounds {
  perRun: LogBounds;
  runs: number;
  bytes: number;
  idleMs: number;
}

/** The entries of all runs of one process, and its workers. */
export class StreamHub {
  /** Differs from that of every other hub, in any process. */
  readonly id = randomBytes(9).toString('base64url');
  readonly #bounds: HubBounds;
  /** The log of the run that was used last is the last one. */
  readonly #logs = new Map<string, RunLog>();
  readonly #workers = new Map<string, number>();
  #bytes = 0;
  #created = 0;
  #withdrawn = 0;
  #isSweeping = false;

  constructor(bounds: HubBounds) {
    this.#bounds = bounds;
  }

  /** Increases each time that the last worker of a namespace closes: its readers wait for news elsewhere from then on. */
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

  /** Returns the log of a run, which begins if there is none. */
  log(key: string): RunLog {
    const known = this.#logs.get(key);
    if (known !== undefined) return known;
    this.#created += 1;
    const made = new RunLog(this.#created);
    made.usedAt = Date.now();
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

  /** Drops the entries of a run. Its readers keep the log, which they find empty. */
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
