import { Bell } from '../bell.ts';
import { pause, within } from '../bounded-wait.ts';
import type { EntryConverter } from './entry-codec.ts';
import type { RedisConnection } from './redis-connection.ts';
import { RunTail } from './run-tail.ts';
import { readItems, streamsOf, textOf } from './stream-commands.ts';
import type { StreamPages } from './stream-pages.ts';

/** The circumstances in which streams are followed. */
export interface TailContext {
  /** The connection that waits for entries. It is opened with the first reader. */
  blocking: () => RedisConnection;
  /** The connection that wakes it. */
  commands: RedisConnection;
  pages: StreamPages;
  converter: EntryConverter;
}

const COUNT = 500;
/** The time for which Redis holds an empty answer back. A short one tells soon that Redis does not answer. */
const BLOCK_MS = 2_000;
const ANSWER_MS = BLOCK_MS + 30_000;
const AGAIN_MS = 20;
const RETRY_MS = 200;
/** The pause behind an answer, in which entries come together: without it there is a request for nearly each of them. */
const GATHER_MS = 4;

class NewConnection extends Error {}

/** Follows the streams of all runs that are read in this process, over one connection. */
export class RunTails {
  readonly #context: TailContext;
  readonly #signal: AbortSignal;
  readonly #tails = new Map<string, RunTail>();
  readonly #changed = new Bell();
  /** True if streams were added since the last request, so that the next one is due. */
  #isDue = false;
  #clientId: { epoch: number; id: string } | undefined;
  #isRunning = false;
  #isWaking = false;

  constructor(context: TailContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
  }

  /** Returns the tail of a stream for one more reader. */
  join(key: string): RunTail {
    const tail = this.#tails.get(key) ?? new RunTail(key);
    this.#tails.set(key, tail);
    tail.readers += 1;
    return tail;
  }

  leave(tail: RunTail): void {
    tail.readers -= 1;
    // Redis is not told: the next request leaves the stream out.
    if (tail.readers === 0) this.#tails.delete(tail.key);
  }

  /** Follows a stream behind an id. */
  follow(tail: RunTail, id: string): void {
    if (this.#signal.aborted) return;
    tail.begin(id);
    this.#isDue = true;
    this.#changed.ring();
    void this.#wake();
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const connection = this.#context.blocking();
    while (!this.#signal.aborted) {
      const followed = new Map(
        [...this.#tails.values()].flatMap((tail) => (tail.last === undefined ? [] : [[tail.key, tail.last] as const])),
      );
      this.#isDue = false;
      if (followed.size === 0) {
        await this.#changed.next(this.#signal);
        continue;
      }
      try {
        await this.#learnId(connection);
        await this.#deliver(followed, await this.#wait(connection, followed));
        await pause(GATHER_MS, this.#signal);
      } catch (error) {
        for (const tail of this.#tails.values()) tail.lose();
        if (!(error instanceof NewConnection)) await pause(RETRY_MS, this.#signal);
      }
    }
  }

  /** Waits for entries behind those that are known. */
  async #wait(connection: RedisConnection, followed: ReadonlyMap<string, string>): Promise<Map<string, unknown>> {
    const command = ['XREAD', 'COUNT', String(COUNT), 'BLOCK', String(BLOCK_MS), 'STREAMS', ...followed.keys(), ...followed.values()];
    const late = new Error(`Redis has not answered for ${ANSWER_MS} ms`);
    const answer = within(ANSWER_MS, connection.send(command, { holdMs: BLOCK_MS }), () => late);
    return streamsOf(
      await answer.catch((error: unknown) => {
        if (error === late) connection.restart(late.message);
        throw error;
      }),
    );
  }

  async #deliver(followed: ReadonlyMap<string, string>, streams: ReadonlyMap<string, unknown>): Promise<void> {
    for (const [key, answer] of streams) {
      const since = followed.get(key);
      const tail = this.#tails.get(key);
      if (since === undefined || tail === undefined) continue;
      const items = await readItems(this.#context.converter, answer);
      // With a full answer this process is behind, and the stream may have been cut in front of it: each reader then finds out for itself.
      const isCut = items.length >= COUNT && !(await this.#context.pages.hasAllBehind(key, since));
      // A reader may have begun at another place meanwhile.
      if (tail.last !== since) continue;
      if (isCut) tail.lose();
      else tail.append(items);
    }
  }

  /**
   * Learns by which id another connection can wake this one. Throws if it is a new connection: Redis may have been started again since
   * readers found their places.
   */
  async #learnId(connection: RedisConnection): Promise<void> {
    await connection.ready(this.#signal);
    const { epoch } = connection;
    if (this.#clientId?.epoch === epoch) return;
    this.#clientId = { epoch, id: textOf(await connection.send(['CLIENT', 'ID'])) };
    throw new NewConnection();
  }

  /** Ends the wait of the request at Redis, again and again: the request may not have arrived yet. */
  async #wake(): Promise<void> {
    if (this.#isWaking) return;
    this.#isWaking = true;
    const { commands } = this.#context;
    while (this.#isDue && !this.#signal.aborted) {
      await commands.ready(this.#signal);
      const id = this.#clientId?.id;
      if (id !== undefined) await commands.send(['CLIENT', 'UNBLOCK', id]).catch(() => undefined);
      await pause(AGAIN_MS, this.#signal);
    }
    this.#isWaking = false;
  }
}
