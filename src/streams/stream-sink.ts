import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import type { StreamEntry } from '../core/domain/stream.ts';

/**
 * Carries the live output of runs from workers to readers: `memoryStreams()`, `redisStreams()`, `heartbeatStreams()`, or your own sink,
 * which `streamSinkConformance` of `longhaul/testing` checks. Give the same sink to the workers and to the clients.
 */
export interface StreamSink {
  /** A short name, for logs. */
  readonly name: string;
  /** The shortest time between two heartbeats of an activity, if the sink sends heartbeats. Workers do not throttle them further. */
  readonly heartbeatEveryMs?: number;
  /** True for a sink that only reaches readers in its own process: a worker in a separate process warns about it at start. */
  readonly withinProcess?: true;
  /** Opens the sink for a worker or a client. Must not wait for a connection. Throws a UsageError for options that cannot work. */
  open(context: StreamSinkContext): StreamChannel;
}

/** The environment in which a sink is opened. */
export interface StreamSinkContext {
  /** The Temporal namespace. */
  namespace: string;
  /** Converts and encodes content as for histories: what is encrypted there must not be stored in clear text elsewhere. */
  dataConverter: LoadedDataConverter;
  /** The client of the reader. Absent in a worker. */
  client?: Client;
  /** Writes a line for the operator, for example that entries are dropped or that the sink has recovered. */
  log: (line: string) => void;
  /** Counts entries that the sink drops. */
  dropped?: (entries: number) => void;
}

/** The attempt of an activity on whose behalf a worker publishes. */
export interface PublishingActivity {
  /** True if the run was started with `live: true`. */
  live: boolean;
  /**
   * Sends a heartbeat with these details about the stream, next to the activity's own (`withStreamedOutput`). Later heartbeats repeat them.
   * Each one is a call to the server.
   */
  heartbeat(details: unknown): void;
}

/** An open sink. */
export interface StreamChannel {
  /**
   * True if `recorded` entries reach the readers of all processes: they then query a run only after such an entry. Otherwise they check
   * the server for news, up to once a second. It may change while the channel is open: check each time. When it becomes false, readers get
   * `lost`, unless entries only come late.
   */
  readonly announces: boolean;
  /**
   * Publishes an entry about a run. Under the id `longhaul-waits`, which no run has, publishes the `recorded` entry of each run that begins
   * to wait for a decision.
   * Returns at once and never throws: an entry that cannot be sent at once is buffered up to a bound, and
   * dropped beyond it. `activity` is present for deltas and attempts.
   */
  publish(runId: string, entry: StreamEntry, activity?: PublishingActivity): void;
  /**
   * Yields the entries of a run in publication order: those after `after`, or all that are kept, and then new ones until the
   * signal is aborted. Never throws for a sink that is down: it continues when the sink is back. Yields `lost` where entries may be
   * missing: `after` is unknown, entries were removed, or the sink was down. Entries that were already read may be repeated after `lost`.
   */
  read(runId: string, options: ReadStreamOptions): AsyncIterable<StreamRead>;
  /**
   * Removes the entries of a run that is deleted, or whose user is forgotten. Rejects if the removal is not certain: then the run is not
   * deleted either, and the caller retries.
   */
  removeRun(runId: string): Promise<void>;
  /** For readiness probes: resolves if entries can be carried at this moment, and rejects with the reason otherwise. */
  health(): Promise<void>;
  /** Ends the readers, and sends buffered entries within a short time. */
  close(): Promise<void>;
}

/** The options of reading a run's entries. */
export interface ReadStreamOptions {
  /** The position of the last entry read, as yielded by this sink, possibly in another process. */
  after?: string;
  /** Ends the read. */
  signal: AbortSignal;
}

/** An entry with its position, which is opaque outside the sink, or a place where entries may be missing. */
export type StreamRead = { type: 'entry'; position: string; entry: StreamEntry } | { type: 'lost'; position?: string };

/** What carries live output from workers to readers in other processes. */
const REMEDY =
  'Give workers and services the same redisStreams({ url }), or heartbeatStreams() and "live": true at the start of the runs (docs/streams.md)';

/**
 * Returns a notice for starting a worker, or a service without one, in a separate process: that its sink does not reach the
 * readers or workers of other processes, or only for some runs. Undefined for a sink that reaches all.
 */
export function streamsNotice(sink: StreamSink | undefined, side: 'worker' | 'service'): string | undefined {
  const others = side === 'worker' ? 'Readers in other processes get' : 'The runs of workers in other processes have';
  if (sink === undefined)
    return `${others} no live output, because there are no "streams": each answer comes when it is recorded. ${REMEDY}`;
  if (sink.withinProcess) return `${others} no live output, because the sink "${sink.name}" is within this process. ${REMEDY}`;
  if (sink.heartbeatEveryMs === undefined) return undefined;
  return `Live output by heartbeats: of the runs alone that are started with "live": true`;
}
