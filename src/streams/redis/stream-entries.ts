import type { LoadedDataConverter, Payload } from '@temporalio/common';
import { packPayload, unpackPayload } from '../../codec/encryption.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import type { StreamEntry } from '../../core/domain/stream.ts';
import type { StreamRead } from '../stream-sink.ts';
import { pause, unlessAborted } from '../waits.ts';
import type { Argument, RedisConnection } from './redis-connection.ts';

interface StreamPage {
  items: readonly ReadItem[];
  /** True if entries before the items may be missing. */
  isLost: boolean;
  /** True if nothing followed the items. */
  isEnd: boolean;
}

/** The place at which a part of a stream begins. */
interface PageRequest {
  key: string;
  /** The part begins after the entry with this id. */
  behind: string;
  /** True if a reader that begins at the start needs to know about missing earlier entries. */
  fromStart: boolean;
}

const COUNT = 200;
const RETRY_MS = 500;

/** Reads streams in parts, and notices restarts of Redis. */
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

  /** Increases each time Redis turns out to be a new process: its newest entries may be gone. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Reads the part after an id, as soon as Redis answers. Resolves with undefined if the signal is aborted. */
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

  /** True if a stream still has the entry with this id, so nothing after it was removed. */
  async hasAllBehind(key: string, id: string): Promise<boolean> {
    if (id === START) return !(await this.#isCut(key));
    return listOf(await this.#connection.send(['XRANGE', key, id, id])).length > 0;
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
    const info = await this.#connection.send(['INFO', 'server']).then(replyText, () => '');
    // A Redis that does not identify its process counts as a new one each time.
    const id = /^run_id:(\S+)/m.exec(info)?.[1] ?? `unknown after connection ${this.#connection.epoch}`;
    if (this.#serverId !== undefined && this.#serverId !== id) this.#restarts += 1;
    this.#serverId = id;
  }

  /** Reports once that Redis answers with an error. A lost connection is reported elsewhere. */
  #refused(error: unknown): void {
    if (!this.#connection.isReady || this.#isRefused) return;
    this.#isRefused = true;
    this.#log(`redisStreams: the stream of a run cannot be read: ${errorMessage(error)}. It is tried again.`);
  }
}

/** The bounds of the stream of one run. */
export interface KeptBounds {
  entries: number;
  /** Milliseconds without a new entry after which Redis removes the stream. */
  keepMs: number;
}

/** An encoded entry to add to the stream of a run; without content, the mark that entries are missing. */
export interface Addition {
  key: string;
  content: Buffer | undefined;
}

/** An entry read from a stream. */
export interface ReadItem {
  id: string;
  read: StreamRead;
  bytes: number;
}

/** The field of an entry that has its content. The field of a mark is another one, and empty. */
const CONTENT = 'e';
const MARK = 'lost';

/** Returns the key of the stream of a run. No two runs have the same: an encoded namespace has no colon. */
export function streamKey(prefix: string, namespace: string, runId: string): string {
  return `${prefix}:stream:${encodeURIComponent(namespace)}:${runId}`;
}

/** Returns the commands that add entries to streams, and bound them. */
export function addCommands(additions: readonly Addition[], { entries, keepMs }: KeptBounds): Argument[][] {
  const adding = additions.map(({ key, content }): Argument[] => {
    const fields: Argument[] = content === undefined ? [MARK, ''] : [CONTENT, content];
    return ['XADD', key, 'MAXLEN', '~', String(entries), '*', ...fields];
  });
  const keys = [...new Set(additions.map(({ key }) => key))];
  return [...adding, ...keys.map((key) => ['PEXPIRE', key, String(keepMs)])];
}

/** Reads the entries of an answer of XRANGE, or of one stream in an answer of XREAD. */
export async function readItems(converter: EntryConverter, answer: unknown): Promise<ReadItem[]> {
  const rows = listOf(answer).map((row) => rowOf(row));
  const contents = rows.flatMap(({ content }) => content ?? []);
  const decoded = await decodeEntries(converter, contents);
  return rows.map(({ id, content }): ReadItem => {
    const entry = content === undefined ? undefined : decoded.shift();
    const read: StreamRead = isEntry(entry) ? { type: 'entry', position: id, entry } : { type: 'lost', position: id };
    return { id, read, bytes: content?.length ?? 0 };
  });
}

/** Returns the answers of XREAD by key. */
export function streamsOf(answer: unknown): Map<string, unknown> {
  return new Map(listOf(answer).map((one) => [replyText(listOf(one)[0]), listOf(one)[1]]));
}

/** Returns a field of an answer of names and values, such as for XINFO. */
function fieldOf(answer: unknown, name: string): unknown {
  const list = listOf(answer);
  const index = list.findIndex((one, at) => at % 2 === 0 && replyText(one) === name);
  return index === -1 ? undefined : list[index + 1];
}

export function replyText(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('utf8') : String(value);
}

function rowOf(row: unknown): { id: string; content: Buffer | undefined } {
  const [id, fields] = listOf(row);
  const content = fieldOf(fields, CONTENT);
  return { id: replyText(id), content: Buffer.isBuffer(content) ? content : undefined };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const TYPES: Record<StreamEntry['type'], true> = { attempt: true, delta: true, recorded: true };

/** True for an entry of a known type. A newer release may publish others, which this one cannot read. */
function isEntry(value: unknown): value is StreamEntry {
  return typeof value === 'object' && value !== null && 'type' in value && Object.hasOwn(TYPES, String(value.type));
}

/** The part of a data converter that entries need, with the codecs of the run. */
export type EntryConverter = Pick<LoadedDataConverter, 'payloadConverter' | 'payloadCodecs'>;

/** Encodes entries, which are payloads already, as they are stored. Rejects with the errors of the codecs. */
export async function encodeEntries({ payloadCodecs }: EntryConverter, entries: readonly Payload[]): Promise<Buffer[]> {
  let payloads = [...entries];
  for (const codec of payloadCodecs) payloads = await codec.encode(payloads);
  if (payloads.length !== entries.length) throw new Error(`A codec returned ${payloads.length} payloads instead of ${entries.length}`);
  return payloads.map((payload) => Buffer.from(packPayload(payload)));
}

/** Decodes stored entries. Unreadable ones are undefined. */
async function decodeEntries(converter: EntryConverter, stored: readonly Buffer[]): Promise<(StreamEntry | undefined)[]> {
  try {
    return await decodeAll(converter, stored);
  } catch {
    // An entry is damaged or needs a missing key: the others may be readable.
    return Promise.all(
      stored.map((one) =>
        decodeAll(converter, [one]).then(
          ([entry]) => entry,
          () => undefined,
        ),
      ),
    );
  }
}

async function decodeAll({ payloadConverter, payloadCodecs }: EntryConverter, stored: readonly Buffer[]): Promise<StreamEntry[]> {
  let payloads = stored.map((bytes) => unpackPayload(bytes));
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  if (payloads.length !== stored.length) throw new Error(`A codec returned ${payloads.length} payloads instead of ${stored.length}`);
  return payloads.map((payload) => payloadConverter.fromPayload<StreamEntry>(payload));
}

/** The position before every entry of a stream. */
export const START = '0-0';

const ID = /^(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/;
const LARGEST = 2n ** 64n - 1n;

/** True for a text that can be the id of an entry: Redis refuses other texts as an error of the caller. */
export function isStreamId(text: string): boolean {
  const [, ms = '', sequence = ''] = ID.exec(text) ?? [];
  return ms !== '' && BigInt(ms) <= LARGEST && BigInt(sequence) <= LARGEST;
}

/** Compares two ids by their order in a stream: negative if the first comes earlier. */
export function compareIds(one: string, other: string): number {
  const [ms = '', sequence = ''] = one.split('-');
  const [otherMs = '', otherSequence = ''] = other.split('-');
  return compareNumbers(ms, otherMs) || compareNumbers(sequence, otherSequence);
}

/** Compares whole numbers without leading zeros, which may be larger than a number can be. */
function compareNumbers(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : Number(one > other);
}
