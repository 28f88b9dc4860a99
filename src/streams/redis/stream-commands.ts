import type { StreamEntry } from '../../core/domain/stream.ts';
import type { StreamRead } from '../stream-sink.ts';
import { type EntryConverter, decodeEntries } from './entry-codec.ts';
import type { Argument } from './redis-connection.ts';

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

/** An entry as it is read from a stream. */
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
  return new Map(listOf(answer).map((one) => [textOf(listOf(one)[0]), listOf(one)[1]]));
}

/** Returns the ids of an answer of XRANGE. */
export function idsOf(answer: unknown): string[] {
  return listOf(answer).map((row) => rowOf(row).id);
}

/** Returns a field of an answer of names and values, such as that of XINFO. */
export function fieldOf(answer: unknown, name: string): unknown {
  const list = listOf(answer);
  const index = list.findIndex((one, at) => at % 2 === 0 && textOf(one) === name);
  return index === -1 ? undefined : list[index + 1];
}

/** Returns a text of an answer. */
export function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('utf8') : String(value);
}

function rowOf(row: unknown): { id: string; content: Buffer | undefined } {
  const [id, fields] = listOf(row);
  const content = fieldOf(fields, CONTENT);
  return { id: textOf(id), content: Buffer.isBuffer(content) ? content : undefined };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const TYPES: Record<StreamEntry['type'], true> = { attempt: true, delta: true, recorded: true };

/** True for an entry of a known type. A newer release may publish others, which this one cannot read. */
function isEntry(value: unknown): value is StreamEntry {
  return typeof value === 'object' && value !== null && 'type' in value && Object.hasOwn(TYPES, String(value.type));
}
