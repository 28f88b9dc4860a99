import { requireKnown, wholeNumber } from '../../define/options/option-checks.ts';
import type { StreamSink } from '../stream-sink.ts';
import { HeartbeatChannel } from './heartbeat-channel.ts';

/** The pace of `heartbeatStreams()`. */
export interface HeartbeatStreamsOptions {
  /** The shortest time between two heartbeats of a call, and between two questions of a reader while a call is live, in milliseconds. Default 500. */
  everyMs?: number;
  /** The longest time between two questions of a reader while no call is live, in milliseconds. Default 10,000. */
  idleEveryMs?: number;
}

/** The options by name. The compiler reports one that is missing here. */
const OPTIONS: Record<keyof HeartbeatStreamsOptions, true> = { everyMs: true, idleEveryMs: true };
const LEAST_MS = 50;

/**
 * Carries the output of runs by the heartbeats of their calls, through the Temporal server: nothing else is to be run. Only runs that were
 * started with `live: true` are streamed, because every heartbeat and every look of a reader is a call to the server. Throws a UsageError for
 * a pace that is no whole number.
 */
export function heartbeatStreams(options: HeartbeatStreamsOptions = {}): StreamSink {
  requireKnown('heartbeatStreams', options, Object.keys(OPTIONS));
  const everyMs = wholeNumber('heartbeatStreams: "everyMs"', options.everyMs ?? 500, LEAST_MS);
  const idleMs = wholeNumber('heartbeatStreams: "idleEveryMs"', options.idleEveryMs ?? 10_000, LEAST_MS);
  return { name: 'heartbeats', heartbeatEveryMs: everyMs, open: (context) => new HeartbeatChannel(everyMs, idleMs, context) };
}
