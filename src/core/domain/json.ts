import { utf8Prefix } from './text.ts';

/** Any value that survives JSON unchanged. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A plain JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** True for a plain JSON object: not null, not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a list of texts, which may be empty. */
export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Returns the value of a JSON text, or undefined if the text is not JSON. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/**
 * Returns JSON text with each object's keys in code-unit order, so that equal values have equal text. Digests and prompts are built from
 * it: they must not depend on the order in which keys were set.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(',')}}`;
}

/**
 * The maximum nesting of lists and objects in a value from a caller, a model or a tool. Recursive code, here and in Temporal, overflows the
 * stack at some thousands of levels.
 */
export const MAX_JSON_DEPTH = 64;

/** The maximum nesting of such a value including the objects around it, for example in a run's carried state. */
export const MAX_CHECKED_DEPTH = 128;

/** True if lists and objects are nested deeper than `levels`, as in any cycle. Not recursive. */
export function isTooDeep(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  // Visits each object once per level: a shared object would otherwise be visited once for every path that leads to it.
  let level = new Set<object>();
  addNested(level, [value]);
  for (let depth = 0; level.size > 0; depth += 1) {
    if (depth >= levels) return true;
    const inner = new Set<object>();
    for (const one of level) addNested(inner, Array.isArray(one) ? one : Object.values(one));
    level = inner;
  }
  return false;
}

/** Describes the first member that is nested too deeply, or returns undefined. `path` leads to the value. */
export function depthProblem(value: unknown, path = ''): string | undefined {
  if (!isNested(value)) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isTooDeep(member)) return `${memberPath(path, Array.isArray(value) ? Number(key) : key)}: ${TOO_DEEP}`;
  }
  return undefined;
}

/** The problem of a value that is nested too deeply, with a suggestion. */
export const TOO_DEEP = `nested deeper than ${MAX_JSON_DEPTH} levels: write it flatter, or as a text of JSON`;

function addNested(nested: Set<object>, members: readonly unknown[]): void {
  for (const member of members) if (isNested(member)) nested.add(member);
}

/** True for a list or an object whose members JSON writes: not for bytes, or for an object with its own `toJSON`. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return !('toJSON' in value && typeof value.toJSON === 'function');
}

/** Returns the path of a member: `deps.user`, `list[0]`, and `headers["X-Id"]` for a key that is not an identifier. */
export function memberPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[\w$]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The maximum bytes of a reason that are repeated to the sender, who may have forged it. */
const REASON_BYTES = 1_000;

/** Returns why a run cannot use a received value, or undefined if it is readable and not nested too deeply. */
export function inboundProblem(value: unknown): string | undefined {
  const why = whyUnreadable(value);
  if (why !== undefined) return `it cannot be read: ${utf8Prefix(why, REASON_BYTES)}`;
  return isTooDeep(value, MAX_CHECKED_DEPTH) ? depthProblem(value) : undefined;
}

/** The only key of an `Unreadable`. */
const UNREADABLE_KEY = 'longhaul:unreadable';

/**
 * The encoding prefix of a payload that a codec could not decode, followed by the reason. The reason is part of the encoding so that a
 * converter that does not know the prefix repeats it in its error.
 */
export const UNREADABLE_ENCODING = 'unreadable: ';

/** Replaces a value whose payload could not be read, and contains the reason. Plain JSON that fits no schema of a run. */
interface Unreadable {
  [UNREADABLE_KEY]: string;
}

/** The maximum bytes of an encoding's name in a reason: the name may be as long as a payload. */
const ENCODING_BYTES = 100;

/** The part of a payload with the name of its encoding. */
interface EncodedPayload {
  metadata?: Record<string, Uint8Array> | null;
}

/** Returns the replacement of a value that could not be read. */
export function unreadable(reason: string): Unreadable {
  return { [UNREADABLE_KEY]: reason };
}

/** Returns why a value could not be read, or undefined if it was read. */
export function whyUnreadable(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !(UNREADABLE_KEY in value)) return undefined;
  const reason: unknown = value[UNREADABLE_KEY];
  return typeof reason === 'string' ? reason : 'no reason is given';
}

/** Reads a payload with `read`; returns an `Unreadable` if that throws. */
export function readOrMark(payload: EncodedPayload, read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return unreadable(reasonOf(payload));
  }
}

/** Writes its own reason, because the messages of JSON parsers differ between Node releases, and a replay must produce the same text. */
function reasonOf({ metadata }: EncodedPayload): string {
  const encoded = metadata?.['encoding'];
  if (encoded === undefined) return 'the payload does not name its encoding';
  const encoding = new TextDecoder().decode(encoded);
  if (encoding.startsWith(UNREADABLE_ENCODING)) return encoding.slice(UNREADABLE_ENCODING.length);
  return encoding === 'json/plain'
    ? 'the data of the payload is not JSON'
    : `the encoding "${utf8Prefix(encoding, ENCODING_BYTES)}" of the payload is unknown`;
}

const ENCODER = new TextEncoder();

const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube roots of the first 64. */
const [INITIAL, ROUND] = constants();

/** Returns the SHA-256 of a text in UTF-8: 8 numbers of 32 bits. The sandbox has no library for it. */
export function sha256(text: string): number[] {
  const bytes = padded(ENCODER.encode(text));
  const view = new DataView(bytes.buffer);
  const state = [...INITIAL];
  for (let offset = 0; offset < bytes.length; offset += BLOCK_BYTES) {
    const words = Array.from({ length: 16 }, (_, index) => view.getUint32(offset + 4 * index));
    addBlock(state, words);
  }
  return state.map((word) => word >>> 0);
}

/** Appends the padding: one bit, zeros, and the message length in bits. */
function padded(message: Uint8Array): Uint8Array {
  const length = Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  const bytes = new Uint8Array(length);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(length - 8, Math.floor(message.length / 0x2000_0000));
  view.setUint32(length - 4, message.length * 8);
  return bytes;
}

function addBlock(state: number[], words: number[]): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (const [round, constant] of ROUND.entries()) {
    const word = wordOf(words, round);
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + constant + word) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = ((state[index] ?? 0) + word) | 0;
}

/** Returns the word of a round, and appends it to the words of the block. */
function wordOf(words: number[], round: number): number {
  const known = words[round];
  if (known !== undefined) return known;
  const [old = 0, next = 0, late = 0, last = 0] = [words[round - 16], words[round - 15], words[round - 7], words[round - 2]];
  const small = turned(next, 7) ^ turned(next, 18) ^ (next >>> 3);
  const large = turned(last, 17) ^ turned(last, 19) ^ (last >>> 10);
  return (words[round] = (old + small + late + large) | 0);
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function constants(): [initial: number[], round: number[]] {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number += 1) if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  return [primes.slice(0, 8).map((prime) => fraction(prime ** (1 / 2))), primes.map((prime) => fraction(prime ** (1 / 3)))];
}

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 0x1_0000_0000) | 0;
}

/** The defined members. Each may be missing. */
type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/**
 * Returns the members without the undefined ones, for spreading into an object: a member that is present but undefined would overwrite
 * another one and does not match an optional type.
 */
export function defined<Members extends object>(members: Members): Defined<Members> {
  for (const name in members) {
    if (members[name] === undefined) return withoutUndefined(members);
  }
  return members;
}

function withoutUndefined<Members extends object>(members: Members): Defined<Members> {
  const rest: Defined<Members> = {};
  for (const name in members) {
    const member = members[name];
    if (member !== undefined) rest[name] = member as Exclude<Members[typeof name], undefined>;
  }
  return rest;
}
