import { UsageError } from '../../core/domain/errors/error.ts';
import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { PublishingActivity, ReadStreamOptions, StreamChannel, StreamRead, StreamSinkContext } from '../stream-sink.ts';
import { AttemptHeartbeats } from './attempt-heartbeats.ts';
import { readHeartbeats } from './read-heartbeats.ts';

/** The channel of a worker or a client by heartbeats. */
export class HeartbeatChannel implements StreamChannel {
  readonly announces = false;
  readonly #everyMs: number;
  readonly #idleMs: number;
  readonly #context: StreamSinkContext;
  readonly #closed = new AbortController();
  readonly #heartbeats: AttemptHeartbeats;

  constructor(everyMs: number, idleMs: number, context: StreamSinkContext) {
    this.#everyMs = everyMs;
    this.#idleMs = idleMs;
    this.#context = context;
    this.#heartbeats = new AttemptHeartbeats(everyMs);
  }

  publish(runId: string, entry: StreamEntry, activity?: PublishingActivity): void {
    if (this.#closed.signal.aborted || entry.type === 'recorded' || activity?.live !== true) return;
    try {
      this.#heartbeats.publish(runId, entry, activity);
    } catch {
      // An entry that is not JSON is not worth a failed call.
    }
  }

  read(runId: string, { after, signal: given }: ReadStreamOptions): AsyncIterable<StreamRead> {
    const { client, dataConverter: converter, namespace } = this.#context;
    if (client === undefined) throw new UsageError('heartbeatStreams: a worker cannot read: read with a client that has this sink');
    const signal = AbortSignal.any([given, this.#closed.signal]);
    return readHeartbeats({ client, converter, namespace, runId, everyMs: this.#everyMs, idleMs: this.#idleMs, after, signal });
  }

  /** Heartbeats are part of the pending activities of a run: the server removes them with its execution. */
  removeRun(): Promise<void> {
    return Promise.resolve();
  }

  async health(): Promise<void> {
    if (this.#closed.signal.aborted) throw new Error('The sink "heartbeats" is closed');
    await this.#context.client?.workflowService.getSystemInfo({});
  }

  close(): Promise<void> {
    this.#closed.abort();
    this.#heartbeats.close();
    return Promise.resolve();
  }
}
