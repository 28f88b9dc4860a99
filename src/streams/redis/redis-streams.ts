import { UsageError } from '../../core/domain/errors/error.ts';
import { type Duration, milliseconds } from '../../core/domain/run/duration.ts';
import { nonEmpty, requireKnown, wholeNumber } from '../../define/options/option-checks.ts';
import type { StreamSink } from '../stream-sink.ts';
import { RedisChannel, type RedisSettings } from './redis-channel.ts';

/** The options of a sink in Redis. */
export interface RedisStreamsOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss:` for TLS. */
  url: string;
  /** The beginning of all keys. Default `longhaul`. Workers and clients need the same. */
  prefix?: string;
  /** The number of entries that are kept of one run, about. Default 10,000. */
  entriesPerRun?: number;
  /** The time without news after which Redis removes the entries of a run. Default 1 hour. */
  keepFor?: Duration;
  /** The most entries that wait to be sent: others are dropped. Default 10,000. */
  queuedEntries?: number;
  /** The most bytes that wait to be sent. Default 16 MB. */
  queuedBytes?: number;
}

/** The options by name. The compiler reports one that is missing here. */
const OPTIONS: Record<keyof RedisStreamsOptions, true> = {
  url: true,
  prefix: true,
  entriesPerRun: true,
  keepFor: true,
  queuedEntries: true,
  queuedBytes: true,
};

/**
 * Carries the output of runs between the workers and clients of a fleet by Redis 7 Streams. Needs the package `redis`. Entries are encoded like the
 * history of the runs. Throws a UsageError for an address or a bound that cannot be used.
 */
export function redisStreams(options: RedisStreamsOptions): StreamSink {
  requireKnown('redisStreams', options, Object.keys(OPTIONS));
  const { prefix = 'longhaul', entriesPerRun = 10_000, keepFor = '1h', queuedEntries = 10_000, queuedBytes = 16_000_000 } = options;
  const settings: RedisSettings = {
    url: nonEmpty('redisStreams: "url"', options.url),
    shown: hostOf(options.url),
    prefix: nonEmpty('redisStreams: "prefix"', prefix),
    kept: {
      entries: wholeNumber('redisStreams: "entriesPerRun"', entriesPerRun, 1),
      keepMs: milliseconds(keepFor, 'redisStreams: "keepFor"'),
    },
    queue: {
      entries: wholeNumber('redisStreams: "queuedEntries"', queuedEntries, 1),
      bytes: wholeNumber('redisStreams: "queuedBytes"', queuedBytes, 1),
    },
  };
  return { name: 'redis', open: (context) => new RedisChannel(settings, context) };
}

/** Returns the host of an address. The address itself may hold a password, which no message shows. */
function hostOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isUsable = parsed !== undefined && ['redis:', 'rediss:'].includes(parsed.protocol) && /^\/?\d*$/.test(parsed.pathname);
  if (isUsable) return parsed.host;
  throw new UsageError('redisStreams: "url" is no address of Redis: write "redis://host:6379", or "rediss:" for TLS');
}
