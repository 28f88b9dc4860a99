import type { StreamSink } from './stream-sink.ts';

/** What carries live output from workers to readers in other processes. */
const REMEDY =
  'Give workers and services the same redisStreams({ url }), or heartbeatStreams() and "live": true at the start of the runs (docs/streams.md)';

/**
 * Returns what a person should know who starts a worker, or a service without one, in a process of its own: that its sink does not reach the
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
