import type { WorkersSetting } from '../stream-workers.ts';
import type { ServedSink } from './serve-options.ts';

/** The settings of the service's process, passed as the JSON of its first argument. */
export interface ServiceSetting extends WorkersSetting {
  sink: ServedSink;
  /** The address of Redis, for that sink. */
  redisUrl: string;
}

/** A message to the process of the service. `count` begins a new count. */
export type ServiceRequest = { type: 'where' } | { type: 'count' } | { type: 'stop' };

/** A message from the process of the service. */
export type ServiceReply = { type: 'ready' } | { type: 'where'; url: string } | ServiceCount;

/** The counts of the service since the last request for them. */
export interface ServiceCount {
  type: 'count';
  /** Queries that the service sent to workflows. */
  queries: number;
  /** The largest resident size of its process, in bytes, at any second. */
  rss: number;
}

/** The settings of the process of readers. */
export interface ReadersSetting {
  url: string;
}

/** A message to the process of readers. */
export type ReadersRequest =
  | { type: 'open'; runIds: string[]; readers: number }
  | { type: 'ends' }
  | { type: 'open_ones' }
  | { type: 'stop' };

/** A message from the process of readers: `opened` once each reader has heard that its run waits, `ended` once each has the end of its run. */
export type ReadersReply = { type: 'ready' } | { type: 'opened' } | ReadersEnded | { type: 'open_ones'; readers: number };

/** The measurements of readers, from `opened` to their ends. */
export interface ReadersEnded {
  type: 'ended';
  /** Milliseconds from the answer of a model or a tool to the receipt of its event, of all readers. */
  eventDelays: number[];
  /** Milliseconds from the sending of a token to the receipt of its delta, of all readers. */
  deltaDelays: number[];
  /** The events that each reader got. */
  events: number[];
}
