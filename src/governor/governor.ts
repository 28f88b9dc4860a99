import { createRequire } from 'node:module';
import { nonEmpty, type OptionTable, requireKnown } from '../define/option-checks.ts';
import { missingPackage, RedisConnection, redisHost } from '../streams/redis/redis-connection.ts';
import { describeRedis, type RedisServer, shownAddress } from '../streams/redis/redis-server.ts';
import type { Ledger } from './ledger.ts';
import type { ProviderLimits } from './limits.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { RedisLedger } from './redis/redis-ledger.ts';

/** The context in which a governor is opened. */
interface GovernorContext {
  /** Writes a line for the operator of the worker. */
  log: (line: string) => void;
}

/** Keeps model calls within the limits of their providers. */
export interface Governor {
  /** The kind of governor, for logs and metrics. */
  readonly name: string;
  /** Opens the accounts of a worker. @internal */
  open(context: GovernorContext): OpenGovernor;
}

/** The accounts of a worker. */
export interface OpenGovernor {
  ledger(provider: string, limits: ProviderLimits): Ledger;
  close(): void;
  /** The address of the server that keeps the limits, without credentials. Absent if this process keeps them. */
  readonly address?: string;
  /** Returns what decides whether that server is suitable. Rejects if it does not answer. */
  server?(): Promise<RedisServer>;
}

/** Keeps the limits in this process. Workers of one process that share the governor share the limits. */
export function memoryGovernor(): Governor {
  const ledgers = new Map<string, Ledger>();
  return {
    name: 'memory',
    open: () => ({
      ledger: (provider, limits) => {
        const ledger = ledgers.get(provider) ?? new MemoryLedger(limits);
        ledgers.set(provider, ledger);
        return ledger;
      },
      close: () => undefined,
    }),
  };
}

/** Options of a governor in Redis. */
export interface RedisGovernorOptions {
  /** `redis://[user:password@]host[:port][/database]`, or `rediss:` for TLS. */
  url: string;
  /** The prefix of all keys. Default `longhaul`. Workers that share a provider key need the same. */
  prefix?: string;
}

const OPTIONS: OptionTable<RedisGovernorOptions> = { url: true, prefix: true };

/**
 * Shares the limits among all workers that use the same Redis 7. Redis is used only while calls wait or permits are lent. While it is
 * down, each worker uses its share. Throws a UsageError for an invalid address, and without the package `redis`.
 */
export function redisGovernor(options: RedisGovernorOptions): Governor {
  requireKnown('redisGovernor', options, OPTIONS);
  const url = nonEmpty('redisGovernor: "url"', options.url);
  const prefix = nonEmpty('redisGovernor: "prefix"', options.prefix ?? 'longhaul');
  const shown = redisHost('redisGovernor', url);
  requireRedis();
  return { name: 'redis', open: ({ log }) => openRedis({ url, prefix, shown, log }) };
}

/** Checks for the package now: at the first call it would be too late. */
function requireRedis(): void {
  try {
    createRequire(import.meta.url).resolve('redis');
  } catch (error) {
    throw missingPackage('redisGovernor', error);
  }
}

interface RedisTarget extends GovernorContext {
  url: string;
  prefix: string;
  shown: string;
}

function openRedis({ url, prefix, shown, log }: RedisTarget): OpenGovernor {
  const connection = new RedisConnection({
    url,
    owner: 'redisGovernor',
    onAway: () => undefined,
    onReady: () => undefined,
  });
  const degraded = new Set<string>();
  return {
    ledger: (provider, limits) =>
      new RedisLedger({
        connection,
        prefix,
        provider,
        limits,
        onAlone: (reason, workers) => {
          if (degraded.size === 0) {
            const part = workers === 1 ? 'the limits by itself' : `one of ${workers} parts of the limits`;
            log(`governor.degraded: Redis at "${shown}" cannot be used: ${reason}. This worker takes ${part} until it can.`);
          }
          degraded.add(provider);
        },
        onBack: () => {
          degraded.delete(provider);
          if (degraded.size === 0) log(`governor.recovered: the limits are shared by Redis at "${shown}" again.`);
        },
      }),
    close: () => connection.close(),
    address: shownAddress(url, shown),
    server: () => describeRedis({ connection, shown }, AbortSignal.timeout(CHECK_MS)),
  };
}

/** The longest time of a check of the server, in milliseconds. */
const CHECK_MS = 10_000;
