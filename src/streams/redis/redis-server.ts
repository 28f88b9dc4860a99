import { UsageError } from '../../core/domain/errors.ts';
import { within } from '../waits.ts';
import type { RedisConnection } from './redis-connection.ts';
import { replyText } from './stream-entries.ts';

/** A server, as it describes itself. */
export interface RedisServer {
  version: string;
  evictionPolicy: string;
}

/** A connection, and the address of its server without credentials. */
interface ConnectedRedis {
  connection: RedisConnection;
  shown: string;
}

const PING_MS = 2_000;

/** Throws unless the server answers within seconds. */
export async function pingRedis({ connection, shown }: ConnectedRedis, signal: AbortSignal): Promise<void> {
  const late = (): Error => {
    const { problem } = connection;
    return problem instanceof UsageError ? problem : new Error(`Redis at "${shown}" does not answer: ${problem.message}`);
  };
  await within(PING_MS, connection.ready(signal), late);
  await within(PING_MS, connection.send(['PING']), late);
}

/** Returns what decides whether the server is suitable: its version and its eviction policy. Throws as `pingRedis`. */
export async function describeRedis(redis: ConnectedRedis, signal: AbortSignal): Promise<RedisServer> {
  await pingRedis(redis, signal);
  const info = replyText(await redis.connection.send(['INFO']));
  const fieldOf = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  return { version: fieldOf('redis_version'), evictionPolicy: fieldOf('maxmemory_policy') };
}

/** Returns the address of a server without credentials, for commands. */
export function shownAddress(url: string, shown: string): string {
  return `${new URL(url).protocol}//${shown}`;
}
