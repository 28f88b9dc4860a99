import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import type { StreamEntry } from '../core/domain/stream.ts';

/**
 * Carries the live output of runs from workers to readers: `memoryStreams()`, `redisStreams()`, `heartbeatStreams()`, or one of your own,
 * which `streamSinkConformance` of `longhaul/testing` checks. Give the same sink to the workers and to the clients.
 */
export interface StreamSink {
  /** A short name, for logs. */
  readonly name: string;
  /** The shortest time between two heartbeats of an activity, of a sink that sends them: workers let them through at this pace. */
  readonly heartbeatEveryMs?: number;
  /** True for a sink whose entries reach the readers of its own process alone: a worker in a separate process says so when it starts. */
  readonly withinProcess?: true;
  /** Opens the sink for a worker or a client. Must not wait for a connection. Throws a UsageError for options that cannot work. */
  open(context: StreamSinkContext): StreamChannel;
}

/** The environment in which a sink is opened. */
export interface StreamSinkContext {
  /** The namespace of Temporal. */
  namespace: string;
  /** Converts and encodes content as in the history of a run: nothing may be stored outside the process in clear text that is encrypted there. */
  dataConverter: LoadedDataConverter;
  /** The client of the reader. Absent in a worker. */
  client?: Client;
  /** Writes a line for the operator: that entries are dropped, that the sink has recovered. */
  log: (line: string) => void;
  /** Counts entries that the sink drops. */
  dropped?: (entries: number) => void;
}

/** The attempt of an activity on whose behalf a worker publishes. */
export interface PublishingActivity {
  /** True if the run was started with `live: true`. */
  live: boolean;
  /**
   * Sends a heartbeat of the activity, with these details about its stream next to its own (`withStreamedOutput`). Later heartbeats repeat them.
   * Each one is a call to the server.
   */
  heartbeat(details: unknown): void;
}

/** An open sink. */
export interface StreamChannel {
  /**
   * True if the entry `recorded` reaches the readers of all processes: they then ask a run only after such an entry. Otherwise they look
   * for news at the server, up to once a second. It may change while the channel is open: ask each time. When it becomes false, readers get
   * `lost`, unless entries only come late.
   */
  readonly announces: boolean;
  /**
   * Publishes an entry about a run; under the id `longhaul-waits`, which no run has, the `recorded` entry of each run that begins to wait for
   * a decision.
   * Returns at once and never throws: an entry that cannot be sent at once is kept within a bound, and
   * dropped beyond it. `activity` is present for deltas and attempts.
   */
  publish(runId: string, entry: StreamEntry, activity?: PublishingActivity): void;
  /**
   * Yields the entries of a run in the order of their publication: those behind `after`, or all that are kept, and then new ones until the
   * signal is aborted. Never throws for a sink that is down: it continues when the sink is there again. Yields `lost` where entries may be
   * missing: `after` is unknown here, entries were removed, or the sink was away. Entries that were read before may follow `lost` again.
   */
  read(runId: string, options: ReadStreamOptions): AsyncIterable<StreamRead>;
  /**
   * Removes what is kept of a run that is deleted, or whose user is forgotten. Rejects if that cannot be said for sure: then the run is not
   * deleted either, and the caller tries again.
   */
  removeRun(runId: string): Promise<void>;
  /** Resolves if entries can be carried at this moment, and rejects with the reason otherwise: for readiness probes. */
  health(): Promise<void>;
  /** Ends the readers, and sends within a short time what is still kept. */
  close(): Promise<void>;
}

/** The options of reading a run's entries. */
export interface ReadStreamOptions {
  /** The position of the last entry that was read, as this sink gave it, possibly in another process. */
  after?: string;
  /** Ends the read. */
  signal: AbortSignal;
}

/** An entry with its position, which means something to its sink alone, or a place where entries may be missing. */
export type StreamRead = { type: 'entry'; position: string; entry: StreamEntry } | { type: 'lost'; position?: string };

/** What carries live output from workers to readers in other processes. */
const REMEDY =
  'Give workers and services the same redisStreams({ url }), or heartbeatStreams() and "live": true at the start of the runs (docs/streams.md)';

/**
 * Returns what a person should know who starts a worker, or a service without one, in a separate process: that its sink does not reach the
 * readers or the workers of other processes, or reaches them for some runs alone. Undefined for a sink that reaches all.
 */
export function streamsNotice(sink: StreamSink | undefined, side: 'worker' | 'service'): string | undefined {
  const others = side === 'worker' ? 'Readers in other processes get' : 'The runs of workers in other processes have';
  if (sink === undefined)
    return `${others} no live output, because there are no "streams": each answer comes when it is recorded. ${REMEDY}`;
  if (sink.withinProcess) return `${others} no live output, because the sink "${sink.name}" is within this process. ${REMEDY}`;
  if (sink.heartbeatEveryMs === undefined) return undefined;
  return `Live output by heartbeats: of the runs alone that are started with "live": true`;
}
