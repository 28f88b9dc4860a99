import { type Duration, timerMilliseconds } from '../../core/domain/run/duration.ts';
import { requireKnown, wholeNumber } from '../../define/options/option-checks.ts';
import type { StreamSink } from '../stream-sink.ts';
import { MemoryChannel } from './memory-channel.ts';
import { StreamHub } from './stream-hub.ts';

/** The bounds of the entries that `memoryStreams()` keeps. */
export interface MemoryStreamsOptions {
  /** The most entries of one run. Default 10,000. */
  entriesPerRun?: number;
  /** The most bytes of one run. Default 4 MB. */
  bytesPerRun?: number;
  /** The most runs. Those without news for the longest time are dropped first. Default 10,000. */
  runs?: number;
  /** The most bytes of all runs together. Default 256 MB. */
  bytes?: number;
  /** The time without news after which the entries of a run are dropped. Default 10 minutes. */
  idleFor?: Duration;
}

/** The options by name. The compiler reports one that is missing here. */
const OPTIONS: Record<keyof MemoryStreamsOptions, true> = {
  entriesPerRun: true,
  bytesPerRun: true,
  runs: true,
  bytes: true,
  idleFor: true,
};

/**
 * Carries the output of runs inside one process, for `longhaul dev`, tests, and a server whose worker is in the same process. Give the same
 * sink to that worker and to the client. Throws a UsageError for a bound that is no whole number.
 */
export function memoryStreams(options: MemoryStreamsOptions = {}): StreamSink {
  requireKnown('memoryStreams', options, Object.keys(OPTIONS));
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
