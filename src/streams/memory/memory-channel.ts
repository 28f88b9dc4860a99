import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { ReadStreamOptions, StreamChannel, StreamRead, StreamSinkContext } from '../stream-sink.ts';
import type { RunLog } from './run-log.ts';
import type { StreamHub } from './stream-hub.ts';

/** The channel of a worker or a client to the hub of its process. */
export class MemoryChannel implements StreamChannel {
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
   * True while a worker of this process has opened the sink. In a process without one nothing is ever published, so a reader has to wait for
   * news at the server. When the last worker closes, readers get `lost`: what was announced until then is all.
   */
  get announces(): boolean {
    return this.#hub.hasWorker(this.#namespace);
  }

  publish(runId: string, entry: StreamEntry): void {
    if (this.#closed.signal.aborted) return;
    try {
      // The caller may go on with the objects that it gave.
      this.#hub.publish(this.#key(runId), structuredClone(entry));
    } catch {
      // An entry that cannot be copied, or that has another form, is not worth a failed call.
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
    // -1 is before the first entry of any log, so that it counts as dropped.
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

  /** Returns the index behind a position; undefined for one of another hub, or of an earlier log of the run. */
  #indexIn(log: RunLog, position: string): number | undefined {
    const [hub, id, next, ...rest] = position.split('.');
    if (hub !== this.#hub.id || id !== String(log.id) || !/^\d+$/.test(next ?? '') || rest.length > 0) return undefined;
    return Number(next) <= log.next ? Number(next) : undefined;
  }

  #key(runId: string): string {
    return JSON.stringify([this.#namespace, runId]);
  }
}
