import { createHash } from 'node:crypto';
import { PRELUDE } from './prelude/prelude.ts';
import type { RealmImage } from './realm.ts';
import type { ThreadSettings } from '../frames.ts';

/** Begins every image. */
const MAGIC = Buffer.from('LHQJS1\n');
const MAX_HEADER_BYTES = 10_000;

/** Describes what a memory must fit to, and where the engine finds itself in it. */
interface Header {
  engine: string;
  functions: string;
  tools: string;
  limits: string;
  digest: string;
  bytes: number;
  stackPointer: number;
  runtimePtr: number;
  contextPtr: number;
  token: number;
}

/** Writes a memory as an image: with what it must fit to. */
export function writeImage({ snapshot, token }: RealmImage, engine: string, settings: ThreadSettings): Uint8Array<ArrayBuffer> {
  const { memory, stackPointer, runtimePtr, contextPtr } = snapshot;
  const fitting = bindings(engine, settings);
  const header: Header = { ...fitting, digest: digest(memory), bytes: memory.length, stackPointer, runtimePtr, contextPtr, token };
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return new Uint8Array(Buffer.concat([MAGIC, length, text, memory]));
}

/** Reads an image; explains why it cannot be restored here. */
export function readImage(bytes: Uint8Array, engine: string, settings: ThreadSettings): RealmImage | string {
  try {
    const header = readHeader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    if (header === undefined) return 'it is no checkpoint of this executor';
    const fitting = bindings(engine, settings);
    if (header.engine !== fitting.engine || header.functions !== fitting.functions) return 'it was made by another version of the executor';
    if (header.tools !== fitting.tools) return 'it was made with other tools, imports or scratchpad';
    if (header.limits !== fitting.limits) return 'it was made with other limits';
    const { stackPointer, runtimePtr, contextPtr, token } = header;
    const memory = bytes.subarray(MAGIC.length + 4 + headerLength(bytes));
    if (memory.length !== header.bytes || digest(memory) !== header.digest) return 'it is damaged';
    return { snapshot: { memory, stackPointer, runtimePtr, contextPtr, extensions: [] }, token };
  } catch {
    return 'it is damaged';
  }
}

function bindings(engine: string, settings: ThreadSettings): Pick<Header, 'engine' | 'functions' | 'tools' | 'limits'> {
  const { tools, scratchpad, allowedImports, ...limits } = settings;
  const text = (value: unknown): string => digest(Buffer.from(JSON.stringify(value)));
  return { engine, functions: digest(Buffer.from(PRELUDE)), tools: text([tools, scratchpad, allowedImports]), limits: text(limits) };
}

function readHeader(bytes: Buffer): Header | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const length = headerLength(bytes);
  if (length > MAX_HEADER_BYTES) return undefined;
  return JSON.parse(bytes.toString('utf8', MAGIC.length + 4, MAGIC.length + 4 + length)) as Header;
}

function headerLength(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(MAGIC.length, true);
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
