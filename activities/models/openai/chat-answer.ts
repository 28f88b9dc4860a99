import { canonicalJson, defined, isJsonObject, isTooDeep, type JsonValue, MAX_JSON_DEPTH } from '../../../src/core/domain/json.ts';
import type { ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import type { Source } from '../../../src/core/domain/content.ts';
import type { UsageStats } from '../../../src/core/domain/usage.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import { endedByItself } from '../../../src/model/answer-text.ts';
import { parseJsonText, parseLooseJson } from '../../../src/model/parse-json.ts';
import { AnswerFault, isReportedError, ReportedFault } from '../errors/error-body.ts';
import { type AnswerListener, type AnswerPiece, normalFinishReason, tokenUsage } from './exchange.ts';
import { OpaqueParts } from './opaque-parts.ts';

/**
 * The silence after which an answer with a finish reason is complete, in milliseconds, if the server neither sends `[DONE]` nor closes the
 * connection: after the usage, which is the API's last chunk, and after anything else.
 */
const SILENCE_MS = { afterUsage: 1_000, otherwise: 15_000 };

/**
 * Assembles a Chat Completions answer, from the chunks of a stream or from a whole completion: its first choice, and the calls of other
 * choices, because some servers send each call as a choice.
 *
 * A finish reason is not the end: some servers send one with every chunk, with the usage. The end is `[DONE]`, the end of the body after a
 * finish reason, or a finish reason and then silence.
 */
export class ChatAnswer {
  readonly #listener: AnswerListener;
  /** The calls, by the index of their choice. */
  readonly #calls = new Map<number, ChatToolCalls>();
  readonly #opaque = new OpaqueParts();
  /** Choices that have received content without a later finish reason. */
  readonly #unfinished = new Set<number>();
  /** Choices with text other than the first. */
  readonly #alternatives = new Set<number>();
  #choice: number | undefined;
  #text = '';
  #refusal = '';
  #usage: UsageStats | null = null;
  #finishReason: string | undefined;
  #ended = false;
  /** Content arrived after a finish reason, so no finish reason is the end. */
  #hasContinued = false;
  #isUsageLast = false;
  #hasDelta = false;
  /** The sources that the text cites. */
  readonly #citations: Source[] = [];
  /** A complete message after the deltas, which should repeat them. */
  #repeated: Record<string, unknown> | undefined;

  constructor(listener: AnswerListener = {}) {
    this.#listener = listener;
  }

  /** True if the answer is complete, even if the connection breaks now. */
  get finished(): boolean {
    return this.#ended || (this.#hasFinished && !this.#hasContinued);
  }

  /** True once `[DONE]` or the end of a whole completion has arrived. */
  get complete(): boolean {
    return this.#ended;
  }

  /** The silence after which the answer is complete, in milliseconds. Undefined: silence proves nothing. */
  get silenceMs(): number | undefined {
    if (!this.#hasFinished || this.#hasContinued) return undefined;
    return this.#isUsageLast ? SILENCE_MS.afterUsage : SILENCE_MS.otherwise;
  }

  get #hasFinished(): boolean {
    return this.#finishReason !== undefined && this.#unfinished.size === 0;
  }

  /** Processes a piece of the answer. Throws a `ReportedFault` if the provider reports an error in it. */
  take(piece: AnswerPiece): void {
    if (piece.type === 'end') {
      this.#ended = true;
      return;
    }
    const { data } = piece;
    if (isReportedError(data)) throw new ReportedFault(data);
    if (!isJsonObject(data)) return;
    const usage = tokenUsage(data['usage']);
    if (usage !== null) this.#listener.onUsage?.(usage);
    this.#usage = usage ?? this.#usage;
    const given: unknown = data['choices'];
    const choices = Array.isArray(given) ? given.filter((choice) => isJsonObject(choice)) : [];
    for (const choice of choices) this.#takeChoice(choice);
    this.#isUsageLast = usage !== null && choices.length === 0;
  }

  /** Returns the whole answer. Throws an `AnswerFault` if it is missing, cut off, or its chunks contradict each other. */
  response(): ModelResponse {
    if (!this.#ended && !this.#hasFinished) throw new AnswerFault('cut', 'the connection ended before the answer did');
    if (this.#choice === undefined) throw new AnswerFault('malformed', 'the answer holds no choice');
    const toolCalls = this.#allCalls();
    this.#text = this.#wholeText();
    const kept = this.#opaque.entries(this.#text, toolCalls);
    return {
      content: this.#text,
      toolCalls,
      usage: this.#usage,
      finishReason: normalFinishReason(this.#finishReason, { toolCalls: toolCalls.length, refusal: this.#refusal }),
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
      ...defined({ providerItems: kept }),
      ...(this.#citations.length === 0 ? {} : { sources: this.#citations }),
    };
  }

  /** Returns the text of the chunks, or of the message after them if it has more. */
  #wholeText(): string {
    const repeated = contentText(this.#repeated?.['content']);
    if (repeated.startsWith(this.#text)) return repeated;
    // The message may also have only the last piece.
    if (this.#text.includes(repeated.trim())) return this.#text;
    throw new AnswerFault('malformed', 'the message at the end has another text than the chunks before');
  }

  #allCalls(): RawToolCall[] {
    const entries = [...this.#calls].toSorted(([one], [other]) => one - other).map(([index, calls]) => ({ index, list: calls.list }));
    const calls: RawToolCall[] = [];
    for (const { index, list } of entries) {
      // A choice with text and calls is another answer, not a part of this one.
      if (list.length > 0 && this.#alternatives.has(index)) throw new AnswerFault('malformed', 'several choices have text and tool calls');
      if (list.some((call) => calls.some((other) => mayBeSame(call, other)))) {
        throw new AnswerFault('malformed', 'several choices have the same tool call');
      }
      calls.push(...list);
    }
    const repeated = new ChatToolCalls();
    repeated.addWhole(this.#repeated?.['tool_calls']);
    repeated.addFunction(this.#repeated?.['function_call']);
    if (calls.length === 0) return repeated.list;
    if (repeated.list.length === 0 || isSameList(repeated.list, calls)) return calls;
    throw new AnswerFault('malformed', 'the message at the end has other tool calls than the chunks before');
  }

  #takeChoice(choice: Record<string, unknown>): void {
    const index = indexOf(choice);
    this.#choice ??= index;
    const { delta, message, finish_reason: finishReason } = choice;
    if (isJsonObject(delta)) this.#hasDelta = true;
    if (isJsonObject(delta)) this.#takeMessage(delta, index, 'addDeltas');
    if (isJsonObject(message) && this.#hasDelta && index === this.#choice) this.#repeated = message;
    else if (isJsonObject(message)) this.#takeMessage(message, index, 'addWhole');
    if (typeof finishReason === 'string' && finishReason !== '') this.#finish(index, finishReason);
  }

  #continue(index: number): void {
    if (this.#finishReason !== undefined) this.#hasContinued = true;
    this.#unfinished.add(index);
  }

  #finish(index: number, word: string): void {
    this.#unfinished.delete(index);
    const isOurs = index === this.#choice;
    if (!isOurs && !this.#calls.has(index)) return;
    // If there are several reasons, the one that reports missing content counts: routers add their own.
    if (this.#finishReason === undefined || endedByItself(this.#finishReason) || (isOurs && !endedByItself(word)))
      this.#finishReason = word;
  }

  #takeMessage(message: Record<string, unknown>, index: number, add: 'addDeltas' | 'addWhole'): void {
    const text = contentText(message['content']);
    const deltas = this.#takeCalls(message, index, add);
    // Only the calls of another choice belong to this answer.
    this.#opaque.take(index === this.#choice ? message : { tool_calls: message['tool_calls'] }, add === 'addWhole');
    if (index !== this.#choice) {
      if (text !== '') this.#alternatives.add(index);
    } else {
      const reasoning = REASONING.map((field) => contentText(message[field])).find((one) => one !== '') ?? '';
      const refusal = contentText(message['refusal']);
      if (reasoning + text + refusal !== '') this.#continue(index);
      this.#report('reasoning', reasoning);
      this.#text += text;
      this.#report('text', text);
      this.#refusal += refusal;
      this.#citations.push(...citationsIn(message['annotations']));
      this.#report('text', refusal);
    }
    for (const delta of deltas) this.#listener.onDelta?.(delta);
  }

  #takeCalls(message: Record<string, unknown>, index: number, add: 'addDeltas' | 'addWhole'): ModelDelta[] {
    const { tool_calls: given, function_call: legacy } = message;
    const hasCalls = Array.isArray(given) ? given.length > 0 : isJsonObject(given);
    if (!hasCalls && !isJsonObject(legacy)) return [];
    this.#continue(index);
    const calls = this.#calls.get(index) ?? new ChatToolCalls();
    this.#calls.set(index, calls);
    return [...(hasCalls ? calls[add](given) : []), ...calls.addFunction(legacy)];
  }

  #report(type: 'text' | 'reasoning', text: string): void {
    if (text !== '') this.#listener.onDelta?.({ type, text });
  }
}

/** True unless the ids show that two choices have different calls. */
function mayBeSame(call: RawToolCall, other: RawToolCall): boolean {
  return isSameList([call], [other]) && (call.id === undefined || other.id === undefined || call.id === other.id);
}

/** The fields of reasoning. It is not part of the API, and the servers that send it use one of two names, or both. */
const REASONING = ['reasoning_content', 'reasoning'] as const;

/** Returns the index of a choice; 0 if it has none. */
function indexOf({ index }: Record<string, unknown>): number {
  return typeof index === 'number' || (typeof index === 'string' && /^\d{1,6}$/.test(index)) ? Number(index) : 0;
}

/** Returns the text, including text from content parts, which some servers send. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** Returns the pages that annotations name, with their positions in the text. The run checks them. */
function citationsIn(annotations: unknown): Source[] {
  if (!Array.isArray(annotations)) return [];
  return annotations.flatMap((one: unknown): Source[] => {
    const cited: unknown = isJsonObject(one) ? one['url_citation'] : undefined;
    if (!isJsonObject(cited)) return [];
    const { url, title, start_index: start, end_index: end } = cited;
    return [{ url, title, start, end } as Source];
  });
}

/** A chunk's data about a call, in which any part may be missing. */
interface CallPiece {
  index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  /** Arguments as JSON text, or a part of it. */
  text: string;
}

/**
 * Assembles the tool calls of one choice. OpenAI numbers the calls, sends id and name once, and the arguments in parts. Other servers leave
 * out the number, give every call the number 0, send an empty or another id with each part, repeat id and name in every chunk, send the
 * arguments as an object, `{}` before the arguments, or all of them again in every chunk or at the end. Unambiguous chunks are assembled.
 * Ambiguous ones make the answer malformed: a call must not be merged, lost or duplicated.
 */
class ChatToolCalls {
  readonly #calls: CallInProgress[] = [];
  /** The single call of `function_call`, which `tool_calls` has replaced. */
  readonly #legacy: CallInProgress[] = [];
  #fault: string | undefined;

  /** Adds the calls of a chunk. Returns the new parts of their arguments. */
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

  /** Adds complete calls, from an answer that is not streamed. Returns their arguments. */
  addWhole(given: unknown): ModelDelta[] {
    return piecesOf(given).map((piece) => {
      const call = this.#open(undefined);
      return inputDelta(call, this.#add(call, piece));
    });
  }

  /** Adds a `function_call`, or a part of it. Returns the new part of its arguments. */
  addFunction(given: unknown): ModelDelta[] {
    const [piece] = piecesOf(given);
    if (piece === undefined) return [];
    const known = this.#legacy.length;
    const call = this.#legacy[0] ?? new CallInProgress(undefined);
    if (known === 0) this.#legacy.push(call);
    const written = this.#add(call, piece);
    return written === '' && known > 0 ? [] : [inputDelta(call, written)];
  }

  /** The calls, in the order of their first chunk. Throws an `AnswerFault` if their chunks are ambiguous. */
  get list(): RawToolCall[] {
    const calls = this.#calls.map((call) => this.#resolve(call));
    this.#requireDistinct(calls);
    const legacy = this.#legacy.map((call) => this.#resolve(call));
    if (this.#fault !== undefined) throw new AnswerFault('malformed', this.#fault);
    if (calls.length === 0) return legacy;
    // A server that sends both forms means the same call.
    if (legacy.length > 0 && !isSameList(calls, legacy)) throw new AnswerFault('malformed', '"function_call" and "tool_calls" differ');
    return calls;
  }

  /** A call with another call's id, name and arguments may be a repetition, or a second call. */
  #requireDistinct(calls: readonly RawToolCall[]): void {
    const ids = this.#calls.flatMap(({ id }) => (id === undefined ? [] : [id]));
    if (new Set(ids).size === ids.length) return;
    const known = new Set<string>();
    for (const [at, { id, name }] of this.#calls.entries()) {
      const call = calls[at];
      if (id === undefined || call === undefined) continue;
      const key = JSON.stringify([id, plainCall(call)]);
      if (known.has(key)) this.#ambiguous({ id, name });
      known.add(key);
    }
  }

  #callOf(piece: CallPiece, inChunk: ReadonlySet<CallInProgress>): CallInProgress {
    const { index, id, name } = piece;
    const begins = name !== undefined;
    const identified = id === undefined ? undefined : this.#calls.findLast((call) => call.id === id);
    // If all calls have the same number, the id says which of them a chunk repeats.
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

  /** Returns the call that a piece continues or repeats, or a new call if it begins another one under the same number. */
  #sameOrNext(call: CallInProgress, piece: CallPiece): CallInProgress {
    const { id, name, text, index } = piece;
    if (name === undefined || call.name === undefined) return call;
    // A server that sends ids sends one for each call: a chunk without an id belongs to the previous call.
    if (call.id !== undefined && id !== undefined && id !== call.id) return this.#sameUnderOtherId(call, piece);
    if (call.id !== undefined) return call;
    if (name !== call.name) {
      // Without an id it may be another call, or the rest of the name.
      if (call.text.trim() === '') this.#ambiguous(piece);
      return this.#open(index);
    }
    if (!call.isClosed || !text.trim().startsWith('{')) return call;
    // It may repeat the call, or extend its arguments. Only different values show that it is another call.
    if (mayBecome(call.text, text)) this.#ambiguous(piece);
    return this.#open(index);
  }

  /** Returns the call that a piece with a different id continues, or a new call: a server may generate an id for each chunk. */
  #sameUnderOtherId(call: CallInProgress, piece: CallPiece): CallInProgress {
    const { name, text, index } = piece;
    const trimmed = text.trim();
    if (name !== call.name || call.isClosed || trimmed === '') return this.#open(index);
    // Arguments begin with a bracket.
    if (call.text.trim() !== '' && !trimmed.startsWith('{')) return call;
    if (text.startsWith(call.snapshot ?? '')) this.#ambiguous(piece);
    return this.#open(index);
  }

  /** Adds a piece to its call. Returns the new part of the arguments. */
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
      // They may be the complete arguments, or the arguments so far.
      else this.#ambiguous(piece);
    }
    return call.append(text);
  }

  /**
   * Returns a call with its arguments. If each chunk repeats the text before it, the last chunk is complete, unless only the concatenation
   * of all is valid.
   */
  #resolve({ id, name, text, snapshot, pieces }: CallInProgress): RawToolCall {
    const args = pieces === 0 ? undefined : text;
    if (snapshot === undefined || pieces === 1) return { id, name, arguments: args };
    const joined = parseLooseJson(text).type;
    const last = parseLooseJson(snapshot).type;
    if (joined === 'invalid' && last !== 'invalid') return { id, name, arguments: snapshot };
    // For example an object whose first value begins like the object itself. If both readings are cut off, neither does harm.
    if (joined !== 'invalid' && last !== 'invalid' && joined + last !== 'cutcut') this.#ambiguous({ id, name });
    return { id, name, arguments: args };
  }

  #open(index: number | undefined): CallInProgress {
    const call = new CallInProgress(index);
    this.#calls.push(call);
    return call;
  }

  #ambiguous({ id, name }: Pick<CallPiece, 'id' | 'name'>): void {
    const call = name ?? id;
    this.#fault ??= `it is not clear which chunks belong to which tool call${call === undefined ? '' : ` (at "${call.slice(0, 100)}")`}`;
  }
}

/** A call whose chunks are arriving. */
class CallInProgress {
  readonly index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  /** All pieces, concatenated. */
  text = '';
  /** The newest piece, as long as each begins with the whole previous one. */
  snapshot: string | undefined;
  pieces = 0;
  #depth = 0;
  #quote = '';
  #isEscaped = false;
  #hasOpened = false;

  constructor(index: number | undefined) {
    this.index = index;
  }

  /** True if every bracket of the text is closed, so that it is complete. */
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

  /** Appends a piece. Returns its new part. */
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

/** True if two lists of calls are equal except for their ids. */
function isSameList(calls: readonly RawToolCall[], others: readonly RawToolCall[]): boolean {
  return JSON.stringify(calls.map(plainCall)) === JSON.stringify(others.map(plainCall));
}

function plainCall({ name, arguments: args }: RawToolCall): unknown {
  return [name ?? null, comparable(typeof args === 'string' ? args : '')];
}

/** Returns arguments in a canonical form. */
function comparable(text: string): string {
  const parsed = parseJsonText(text, true);
  return parsed.ok ? canonicalJson(parsed.value) : text.trim();
}

/** True if the second arguments may be the first call's, complete or so far. */
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

/** Returns the calls that a chunk or a message lists. Some servers send a single call instead of a list. */
function piecesOf(given: unknown): CallPiece[] {
  const list: unknown[] = Array.isArray(given) ? given : [given];
  return list.filter((one) => isJsonObject(one)).map(pieceOf);
}

function pieceOf(call: Record<string, unknown>): CallPiece {
  const { name, arguments: args } = isJsonObject(call['function']) ? call['function'] : call;
  const index = call['index'];
  const number = typeof index === 'string' && /^\d{1,6}$/.test(index) ? Number(index) : index;
  return {
    index: typeof number === 'number' ? number : undefined,
    id: filledText(call['id']),
    name: filledText(name),
    text: writtenText(args),
  };
}

/** Replaces arguments that are nested too deeply to be written by ones that every reader refuses for their depth. */
const TOO_DEEP = '['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1);

/** Returns arguments as JSON text. */
function writtenText(given: unknown): string {
  if (typeof given === 'string') return given;
  if (given === undefined || given === null) return '';
  return isTooDeep(given) ? TOO_DEEP : JSON.stringify(given);
}

function filledText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a delta of a call's arguments. The id is empty if the server sends none. */
function inputDelta({ id = '', name = '' }: CallInProgress, text: string): ModelDelta {
  return { type: 'tool_input', callId: id, toolName: name, text };
}
