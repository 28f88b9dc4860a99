import { errorMessage } from '../../core/domain/errors.ts';
import { pause, unlessAborted } from '../bounded-wait.ts';
import type { EntryConverter } from './entry-codec.ts';
import type { RedisConnection } from './redis-connection.ts';
import { fieldOf, idsOf, type ReadItem, readItems, textOf } from './stream-commands.ts';
import { START } from './stream-id.ts';

/** A part of a stream. */
export interface StreamPage {
  items: readonly ReadItem[];
  /** True if entries before the items may be missing. */
  isLost: boolean;
  /** True if nothing followed the items. */
  isEnd: boolean;
}

/** The place at which a part of a stream begins. */
export interface PageRequest {
  key: string;
  /** The id of the entry before the part. */
  behind: string;
  /** True if a reader that begins at the start has to know that earlier entries are missing. */
  fromStart: boolean;
}

const COUNT = 200;
const RETRY_MS = 500;

/** Reads streams in parts, and notices that Redis was started again. */
export class StreamPages {
  readonly #connection: RedisConnection;
  readonly #converter: EntryConverter;
  readonly #log: (line: string) => void;
  #server: { epoch: number; checked: Promise<void> } | undefined;
  #serverId: string | undefined;
  #restarts = 0;
  #isRefused = false;

  constructor(connection: RedisConnection, converter: EntryConverter, log: (line: string) => void) {
    this.#connection = connection;
    this.#converter = converter;
    this.#log = log;
  }

  /** Increases each time that Redis was found to be another process than before: its newest entries may be gone. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Reads the part behind an id, as soon as Redis answers. Resolves with undefined if the signal is aborted. */
  async read(request: PageRequest, signal: AbortSignal): Promise<StreamPage | undefined> {
    for (;;) {
      await this.#connection.ready(signal);
      if (signal.aborted) return undefined;
      try {
        return await unlessAborted(this.#read(request), signal);
      } catch (error) {
        this.#refused(error);
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** True if a stream still has the entry with this id, so that nothing behind it was removed. */
  async hasAllBehind(key: string, id: string): Promise<boolean> {
    if (id === START) return !(await this.#isCut(key));
    return idsOf(await this.#connection.send(['XRANGE', key, id, id])).length > 0;
  }

  async #read({ key, behind, fromStart }: PageRequest): Promise<StreamPage> {
    await this.#checkServer();
    const isStart = behind === START;
    // The entry before the part comes first, if it still exists. Then nothing between is missing.
    const answer = await this.#connection.send(['XRANGE', key, isStart ? '-' : behind, '+', 'COUNT', String(COUNT)]);
    const items = await readItems(this.#converter, answer);
    const isEnd = items.length < COUNT;
    if (isStart) return { items, isEnd, isLost: fromStart && (await this.#isCut(key)) };
    const isKept = items[0]?.id === behind;
    return { items: isKept ? items.slice(1) : items, isEnd, isLost: !isKept };
  }

  /** True if the first entries of a stream were removed. */
  async #isCut(key: string): Promise<boolean> {
    const info = await this.#connection.send(['XINFO', 'STREAM', key]).catch((error: unknown) => {
      // A stream without entries does not exist.
      if (errorMessage(error).includes('no such key')) return [];
      throw error;
    });
    const [added, length] = [fieldOf(info, 'entries-added'), fieldOf(info, 'length')];
    return typeof added === 'number' && typeof length === 'number' && added > length;
  }

  #checkServer(): Promise<void> {
    const { epoch } = this.#connection;
    if (this.#server?.epoch !== epoch) this.#server = { epoch, checked: this.#learnServer() };
    return this.#server.checked;
  }

  async #learnServer(): Promise<void> {
    const info = await this.#connection.send(['INFO', 'server']).then(textOf, () => '');
    // A Redis that does not say which process it is counts as another one each time.
    const id = /^run_id:(\S+)/m.exec(info)?.[1] ?? `unknown after connection ${this.#connection.epoch}`;
    if (this.#serverId !== undefined && this.#serverId !== id) this.#restarts += 1;
    this.#serverId = id;
  }

  /** Tells the operator once that Redis answers with an error. A lost connection is told elsewhere. */
  #refused(error: unknown): void {
    if (!this.#connection.isReady || this.#isRefused) return;
    this.#isRefused = true;
    this.#log(`redisStreams: the stream of a run cannot be read: ${errorMessage(error)}. It is tried again.`);
  }
}
