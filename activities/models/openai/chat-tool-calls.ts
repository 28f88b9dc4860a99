import { isTooDeep, MAX_JSON_DEPTH } from '../../../src/core/domain/json/json-depth.ts';
import { canonicalJson, isJsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';
import type { RawToolCall } from '../../../src/core/domain/model/model.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';
import { parseJsonText } from '../../../src/model/parse-json-text.ts';
import { parseLooseJson } from '../../../src/model/parse-loose-json.ts';
import { AnswerFault } from '../errors/answer-fault.ts';

/** What a chunk says about a call: any part may be missing. */
interface CallPiece {
  index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  /** Arguments as JSON text, or a part of it. */
  text: string;
}

/**
 * Assembles the tool calls of one choice. OpenAI numbers the calls, sends id and name once, and the arguments in parts.
 * Other servers leave out the number, give every call the number 0, send an empty or another id with each part, repeat
 * id and name in every chunk, send the arguments as an object, `{}` before the arguments, or all of them again in every
 * chunk or at the end. Whatever has only one reading is put together. Chunks with two readings make the answer
 * malformed: a call must not be merged, lost or doubled.
 */
export class ChatToolCalls {
  readonly #calls: CallInProgress[] = [];
  /** The one call of `function_call`, which `tool_calls` has replaced. */
  readonly #legacy: CallInProgress[] = [];
  #fault: string | undefined;

  /** Adds the calls of a chunk. Returns the parts of their arguments that are new. */
  addDeltas(given: unknown): ModelDelta[] {
    const inChunk = new Set<CallInProgress>();
    return piecesOf(given).flatMap((piece) => {
      const known = this.#calls.length;
      const call = this.#callOf(piece, inChunk);
      inChunk.add(call);
      const written = this.#add(call, piece);
      return written === '' && this.#calls.length === known ? [] : [inputDelta(call, written)];
    });
  }

  /** Adds whole calls, from an answer that is not streamed. Returns their arguments. */
  addWhole(given: unknown): ModelDelta[] {
    return piecesOf(given).map((piece) => {
      if (this.#calls.some((call) => call.id !== undefined && call.id === piece.id && isSame(call, piece))) this.#ambiguous(piece);
      const call = this.#open(undefined);
      return inputDelta(call, this.#add(call, piece));
    });
  }

  /** Adds a `function_call`, or a part of it. Returns the part of its arguments that is new. */
  addFunction(given: unknown): ModelDelta[] {
    const [piece] = piecesOf(given);
    if (piece === undefined) return [];
    const known = this.#legacy.length;
    const call = this.#legacy[0] ?? new CallInProgress(undefined);
    if (known === 0) this.#legacy.push(call);
    const written = this.#add(call, piece);
    return written === '' && known > 0 ? [] : [inputDelta(call, written)];
  }

  /** The calls, in the order of their first chunk. Throws an `AnswerFault` if their chunks have more than one reading. */
  get list(): RawToolCall[] {
    const calls = this.#calls.map((call) => this.#resolve(call));
    const legacy = this.#legacy.map((call) => this.#resolve(call));
    if (this.#fault !== undefined) throw new AnswerFault('malformed', this.#fault);
    if (calls.length === 0) return legacy;
    // A server that sends both forms means one call.
    if (legacy.length > 0 && !isSameList(calls, legacy)) throw new AnswerFault('malformed', '"function_call" and "tool_calls" differ');
    return calls;
  }

  #callOf(piece: CallPiece, inChunk: ReadonlySet<CallInProgress>): CallInProgress {
    const { index, id, name } = piece;
    const begins = name !== undefined;
    const identified = id === undefined ? undefined : this.#calls.findLast((call) => call.id === id);
    // Where all calls have one number, the id says which of them a chunk repeats.
    const newest = index === undefined ? undefined : this.#calls.findLast((call) => call.index === index);
    const numbered = newest !== undefined && identified?.index === index ? identified : newest;
    if (numbered !== undefined) return begins && inChunk.has(numbered) ? this.#open(index) : this.#sameOrNext(numbered, piece);
    const last = this.#calls.at(-1);
    if (index !== undefined) {
      if (begins) return this.#open(index);
      return identified ?? (last !== undefined && last.index === undefined ? last : this.#open(index));
    }
    if (identified !== undefined) return begins && inChunk.has(identified) ? this.#open(undefined) : identified;
    if (last === undefined) return this.#open(undefined);
    if (!begins) return last;
    if (inChunk.has(last)) return this.#open(undefined);
    return this.#sameOrNext(last, piece);
  }

  /** Returns the call that a piece continues or repeats, or a new one if it begins another under the same number. */
  #sameOrNext(call: CallInProgress, piece: CallPiece): CallInProgress {
    const { id, name, text, index } = piece;
    if (name === undefined || call.name === undefined) return call;
    // A server that gives ids gives one to each call: without one, a chunk belongs to the call before.
    if (call.id !== undefined && id !== undefined && id !== call.id) return this.#sameUnderOtherId(call, piece);
    if (call.id !== undefined) return call;
    if (name !== call.name) {
      // Without an id it may be another call, or the rest of the name.
      if (call.text.trim() === '') this.#ambiguous(piece);
      return this.#open(index);
    }
    if (!call.isClosed || !text.trim().startsWith('{')) return call;
    // It may repeat the call, or have more of its arguments. Only other values show that it is another call.
    if (mayBecome(call.text, text)) this.#ambiguous(piece);
    return this.#open(index);
  }

  /** Returns the call that a piece continues, or a new one, if it has another id: a server may make one for each chunk. */
  #sameUnderOtherId(call: CallInProgress, piece: CallPiece): CallInProgress {
    const { name, text, index } = piece;
    const trimmed = text.trim();
    if (name !== call.name || call.isClosed || trimmed === '') return this.#open(index);
    // Arguments begin with a bracket.
    if (call.text.trim() !== '' && !trimmed.startsWith('{')) return call;
    if (text.startsWith(call.snapshot ?? '')) this.#ambiguous(piece);
    return this.#open(index);
  }

  /** Adds a piece to its call. Returns the part of the arguments that is new. */
  #add(call: CallInProgress, piece: CallPiece): string {
    const { id, name, text } = piece;
    if (name !== undefined && call.name !== undefined && name !== call.name) this.#ambiguous(piece);
    call.id ??= id;
    call.name ??= name;
    if (text === '') return '';
    const trimmed = text.trim();
    if (call.isClosed && trimmed.startsWith('{')) {
      const known = call.text.trim();
      if (trimmed === known) return '';
      if (known === '{}') call.clear();
      // They may be the whole arguments, or as far as they have come.
      else this.#ambiguous(piece);
    }
    return call.append(text);
  }

  /**
   * Returns a call with its arguments. If each chunk repeats the text before it, the last one has all of it, unless only
   * all of them together make sense.
   */
  #resolve({ id, name, text, snapshot, pieces }: CallInProgress): RawToolCall {
    const args = pieces === 0 ? undefined : text;
    if (snapshot === undefined || pieces === 1) return { id, name, arguments: args };
    const joined = parseLooseJson(text).type;
    const last = parseLooseJson(snapshot).type;
    if (joined === 'invalid' && last !== 'invalid') return { id, name, arguments: snapshot };
    // For example an object whose first value begins like the object itself. Two that are cut do no harm.
    if (joined !== 'invalid' && last !== 'invalid' && joined + last !== 'cutcut') this.#ambiguous({ index: undefined, id, name, text });
    return { id, name, arguments: args };
  }

  #open(index: number | undefined): CallInProgress {
    const call = new CallInProgress(index);
    this.#calls.push(call);
    return call;
  }

  #ambiguous({ id, name }: CallPiece): void {
    const call = name ?? id;
    this.#fault ??= `it is not clear which chunks belong to which tool call${call === undefined ? '' : ` (at "${call.slice(0, 100)}")`}`;
  }
}

/** A call whose chunks arrive. */
class CallInProgress {
  readonly index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  /** All pieces, one after the other. */
  text = '';
  /** The newest piece, as long as each has begun with the whole of the one before. */
  snapshot: string | undefined;
  pieces = 0;
  #depth = 0;
  #quote = '';
  #isEscaped = false;
  #hasOpened = false;

  constructor(index: number | undefined) {
    this.index = index;
  }

  /** True if every bracket of the text is closed, so that nothing more belongs to it. */
  get isClosed(): boolean {
    return this.#hasOpened && this.#depth <= 0 && this.#quote === '';
  }

  clear(): void {
    this.text = '';
    this.snapshot = undefined;
    this.pieces = 0;
    this.#depth = 0;
    this.#quote = '';
    this.#isEscaped = false;
    this.#hasOpened = false;
  }

  /** Appends a piece. Returns what is new in it. */
  append(text: string): string {
    const before = this.snapshot;
    const isRepeat = before !== undefined && text.startsWith(before);
    this.snapshot = this.pieces === 0 || isRepeat ? text : undefined;
    this.pieces += 1;
    this.text += text;
    this.#count(text);
    return isRepeat ? text.slice(before.length) : text;
  }

  #count(text: string): void {
    for (const char of text) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#quote !== '') {
        if (char === '\\') this.#isEscaped = true;
        else if (char === this.#quote) this.#quote = '';
      } else if (char === '"' || char === "'") this.#quote = char;
      else if (char === '{' || char === '[') {
        this.#depth += 1;
        this.#hasOpened = true;
      } else if (char === '}' || char === ']') this.#depth -= 1;
    }
  }
}

/** True if two lists of calls are the same, but for their ids. */
export function isSameList(calls: readonly RawToolCall[], others: readonly RawToolCall[]): boolean {
  const plain = (list: readonly RawToolCall[]): string =>
    JSON.stringify(list.map(({ name, arguments: args }) => [name ?? null, comparable(typeof args === 'string' ? args : '')]));
  return plain(calls) === plain(others);
}

function isSame(call: CallInProgress, { name, text }: CallPiece): boolean {
  return call.name === name && comparable(call.text) === comparable(text);
}

/** Returns arguments in a form that does not depend on how they are written. */
function comparable(text: string): string {
  const parsed = parseJsonText(text, true);
  return parsed.ok ? canonicalJson(parsed.value) : text.trim();
}

/** True if the second arguments may be those of the first call, as far as they had come or as a whole. */
function mayBecome(text: string, later: string): boolean {
  const first = parseJsonText(text, true);
  const second = parseJsonText(later, true);
  return !first.ok || !second.ok || mayGrow(first.value, second.value);
}

function mayGrow(from: JsonValue, to: JsonValue): boolean {
  if (Array.isArray(from)) return Array.isArray(to) && from.every((one, index) => index < to.length && mayGrow(one, to[index] ?? null));
  if (isJsonObject(from)) {
    return isJsonObject(to) && Object.entries(from).every(([key, one]) => Object.hasOwn(to, key) && mayGrow(one, to[key] ?? null));
  }
  if (typeof from === 'string') return typeof to === 'string' && to.startsWith(from);
  return JSON.stringify(to).startsWith(JSON.stringify(from));
}

/** Returns the calls that a chunk or a message lists. Some servers send one call in place of a list of one. */
function piecesOf(given: unknown): CallPiece[] {
  const list: unknown[] = Array.isArray(given) ? given : [given];
  return list.filter((one) => isJsonObject(one)).map(pieceOf);
}

function pieceOf(call: Record<string, unknown>): CallPiece {
  const { name, arguments: args } = isJsonObject(call['function']) ? call['function'] : call;
  const index = call['index'];
  const number = typeof index === 'string' && /^\d{1,6}$/.test(index) ? Number(index) : index;
  return { index: typeof number === 'number' ? number : undefined, id: filled(call['id']), name: filled(name), text: writtenText(args) };
}

/** Replaces arguments that are nested too deeply to be written: as deep as no reader takes them, so that the call is refused for that. */
const TOO_DEEP = '['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1);

/** Returns arguments as JSON text. */
function writtenText(given: unknown): string {
  if (typeof given === 'string') return given;
  if (given === undefined || given === null) return '';
  return isTooDeep(given) ? TOO_DEEP : JSON.stringify(given);
}

function filled(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a piece of the arguments of a call. Servers that send no id give none here. */
function inputDelta({ id = '', name = '' }: CallInProgress, text: string): ModelDelta {
  return { type: 'tool_input', callId: id, toolName: name, text };
}
