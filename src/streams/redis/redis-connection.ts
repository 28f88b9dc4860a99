import type { RedisClientType } from 'redis';
import { errorMessage, memberOf, UsageError } from '../../core/domain/errors.ts';
import { Bell } from '../waits.ts';

/** An argument of a command. */
export type Argument = string | Buffer;

/** The use of a connection. */
interface RedisTarget {
  url: string;
  /** The public function that needs the connection. */
  owner: 'redisStreams' | 'redisGovernor';
  /** Called with the reason when the connection is lost or cannot be made. */
  onAway: (reason: string) => void;
  /** Called when the connection can be used. */
  onReady: () => void;
}

const CONNECT_MS = 5_000;
/** How long a server that accepts a connection may take to answer the first commands. */
const GREETING_MS = 15_000;
const SLOWEST_RETRY_MS = 1_000;
/** The time after which a command counts as unanswered. */
const SLOW_MS = 1_000;

/** A connection to Redis that reconnects whenever it is lost. */
export class RedisConnection {
  readonly #target: RedisTarget;
  readonly #changed = new Bell();
  #client: RedisClientType | undefined;
  #epoch = 0;
  #isClosed = false;
  /** When the commands in flight are expected to be answered. */
  readonly #due = new Set<{ at: number }>();
  #problem: Error = new Error('It has not been connected yet');

  constructor(target: RedisTarget) {
    this.#target = target;
    void this.#open();
  }

  get isReady(): boolean {
    return this.#client?.isReady === true;
  }

  /** False if it is not ready, or a command is overdue: Redis was stopped, or packets no longer arrive. */
  get answers(): boolean {
    const now = performance.now();
    return this.isReady && [...this.#due].every(({ at }) => now <= at);
  }

  /** Increases with each connection: earlier facts about the server may no longer hold. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The reason why it is not ready. */
  get problem(): Error {
    return this.#problem;
  }

  /** Resolves when the connection can be used, or the signal is aborted. */
  async ready(signal: AbortSignal): Promise<void> {
    while (!this.isReady && !signal.aborted) await this.#changed.next(signal);
  }

  /**
   * Sends one command. Rejects if the connection is lost before the answer. Texts in the answer are bytes. `holdMs`: how long Redis
   * may block.
   */
  async send(args: readonly Argument[], { holdMs = 0 } = {}): Promise<unknown> {
    if (this.#client?.isReady !== true) throw this.#problem;
    return this.#expected(holdMs, this.#client.sendCommand([...args]));
  }

  /** Sends commands that take effect together or not at all. Rejects with a MultiErrorReply if some of them are refused. */
  async transaction(commands: readonly (readonly Argument[])[]): Promise<void> {
    if (this.#client?.isReady !== true) throw this.#problem;
    const multi = this.#client.multi();
    for (const command of commands) multi.sendCommand(command);
    await this.#expected(0, multi.exec());
  }

  /** Drops a connection that does not answer, and makes a new one. */
  restart(reason: string): void {
    if (this.#isClosed) return;
    this.#discard();
    this.#away(new Error(reason));
    void this.#open();
  }

  close(): void {
    this.#isClosed = true;
    this.#discard();
    this.#changed.ring();
  }

  async #expected<Answer>(holdMs: number, answer: Promise<Answer>): Promise<Answer> {
    const due = { at: performance.now() + holdMs + SLOW_MS };
    this.#due.add(due);
    try {
      return await answer;
    } finally {
      this.#due.delete(due);
    }
  }

  async #open(): Promise<void> {
    try {
      const { createClient, RESP_TYPES } = await import('redis');
      if (this.#isClosed) return;
      const client: unknown = createClient({
        url: this.#target.url,
        name: this.#target.owner === 'redisStreams' ? 'longhaul-streams' : 'longhaul-governor',
        // The two protocol versions have different answers.
        RESP: 2,
        maintNotifications: 'disabled',
        // Entries wait in a separate, bounded queue.
        disableOfflineQueue: true,
        commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
        socket: { connectTimeout: CONNECT_MS, reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 5), SLOWEST_RETRY_MS) },
      });
      this.#watch(client as RedisClientType);
    } catch (error) {
      this.#away(memberOf(error, 'code') === 'ERR_MODULE_NOT_FOUND' ? missingPackage(this.#target.owner, error) : error);
    }
  }

  #watch(client: RedisClientType): void {
    this.#client = client;
    let greeting: NodeJS.Timeout | undefined;
    // A client that is destroyed while it connects continues to connect.
    client.on('connect', () => {
      if (this.#client !== client) return client.destroy();
      greeting = setTimeout(() => {
        if (this.#client === client) this.restart('It accepts connections, and does not answer');
      }, GREETING_MS).unref();
    });
    client.on('ready', () => {
      clearTimeout(greeting);
      if (this.#client !== client) return client.destroy();
      this.#epoch += 1;
      this.#target.onReady();
      this.#changed.ring();
    });
    client.on('error', (error: unknown) => {
      clearTimeout(greeting);
      if (this.#client === client) this.#away(error);
    });
    client.connect().catch((error: unknown) => {
      if (this.#client === client) this.#away(error);
    });
  }

  #away(error: unknown): void {
    const isNamed = errorMessage(error) !== '';
    // A refused connection to several addresses has a code and no message.
    this.#problem = isNamed && error instanceof Error ? error : new Error(String(memberOf(error, 'code') ?? error), { cause: error });
    this.#target.onAway(this.#problem.message);
  }

  #discard(): void {
    this.#client?.destroy();
    this.#client = undefined;
  }
}

/** Returns the error for a missing Redis client package. `owner`: the function that the user has called. */
export function missingPackage(owner: string, cause: unknown): UsageError {
  return new UsageError(`${owner} needs the package "redis", which is not installed: run "npm install redis"`, { cause });
}

/**
 * Returns the host of a Redis address. The address may contain a password, which no message shows. Throws a UsageError for an
 * invalid address.
 */
export function redisHost(owner: string, url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isUsable = parsed !== undefined && ['redis:', 'rediss:'].includes(parsed.protocol) && /^\/?\d*$/.test(parsed.pathname);
  if (isUsable) return parsed.host;
  throw new UsageError(`${owner}: "url" is not a Redis address: write "redis://host:6379", or "rediss:" for TLS`);
}

/**
 * Reports trouble with Redis to the operator: one line when it begins, and one when it is over. An outage causes thousands of errors,
 * which need no lines of their own.
 */
export class Trouble {
  readonly #log: (line: string) => void;
  readonly #count: (entries: number) => void;
  #isAway = false;
  #isDropping = false;
  #dropped = 0;

  /** `count` counts entries that are dropped. */
  constructor(log: (line: string) => void, count: (entries: number) => void = () => undefined) {
    this.#log = log;
    this.#count = count;
  }

  /** Redis cannot be reached, or is not usable. */
  away(reason: string): void {
    this.#begin(`${reason}. Live output waits in the queue, and is dropped beyond its bound; runs continue`);
    this.#isAway = true;
  }

  /** Redis can be reached again. */
  back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#end();
  }

  /** Entries are dropped. */
  drops(count: number, reason: string): void {
    this.#begin(`live output is dropped: ${reason}. Runs continue`);
    this.#isDropping = true;
    this.#dropped += count;
    this.#count(count);
  }

  /** Records that entries are sent and no longer dropped. */
  sends(): void {
    if (!this.#isDropping) return;
    this.#isDropping = false;
    this.#end();
  }

  #begin(line: string): void {
    if (!this.#isAway && !this.#isDropping) this.#tell(`${line}.`);
  }

  #end(): void {
    if (this.#isAway || this.#isDropping) return;
    this.#tell(`live output is carried again. Entries dropped meanwhile: ${this.#dropped}.`);
    this.#dropped = 0;
  }

  #tell(line: string): void {
    try {
      this.#log(`redisStreams: ${line}`);
    } catch {
      // A log that fails must not end the process, which an error in an event of the connection would do.
    }
  }
}
