import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import type { ModelResponse, RawToolCall } from '../../../src/core/domain/model/model.ts';
import type { UsageStats } from '../../../src/core/domain/model/usage.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';
import { endedByItself } from '../../../src/model/finish-words.ts';
import { AnswerFault, isReportedError, ReportedFault } from '../errors/answer-fault.ts';
import { ChatToolCalls, isSameList } from './chat-tool-calls.ts';
import type { AnswerListener } from './answer-listener.ts';
import type { AnswerPiece } from './exchange.ts';
import { normalFinishReason } from './finish-reason.ts';
import { OpaqueParts } from './opaque-parts.ts';
import { tokenUsage } from './token-usage.ts';

/**
 * The silence after which an answer with a finish reason is complete, in milliseconds, if the server neither sends
 * `[DONE]` nor closes the connection: after the usage alone, which is the last chunk of the API, and after anything else.
 */
const SILENCE_MS = { afterUsage: 1_000, otherwise: 15_000 };

/**
 * Assembles a Chat Completions answer, from the chunks of a stream or from a whole completion: its first choice, and the
 * calls of the others, because some servers send each call as a choice.
 *
 * A finish reason is not the end: some servers send one with every chunk, with the usage. The end is `[DONE]`, the end
 * of the body after a finish reason, or a finish reason and then silence.
 */
export class ChatAnswer {
  readonly #listener: AnswerListener;
  /** The calls by the index of their choice. */
  readonly #calls = new Map<number, ChatToolCalls>();
  readonly #opaque = new OpaqueParts();
  /** Choices of which something has come and no finish reason since. */
  readonly #unfinished = new Set<number>();
  /** Choices besides the first that have text. */
  readonly #alternatives = new Set<number>();
  #choice: number | undefined;
  #text = '';
  #refusal = '';
  #usage: UsageStats | null = null;
  #finishReason: string | undefined;
  #ended = false;
  /** Something of the answer came behind a finish reason: none of them is the end. */
  #hasContinued = false;
  #isUsageLast = false;
  #hasDelta = false;
  /** A whole message behind the deltas, which should repeat them. */
  #repeated: Record<string, unknown> | undefined;

  constructor(listener: AnswerListener = {}) {
    this.#listener = listener;
  }

  /** True if the answer is whole, even if the connection breaks now. */
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

  /** Returns the whole answer. Throws an `AnswerFault` if there is none, it is cut, or its chunks contradict each other. */
  response(): ModelResponse {
    if (!this.#ended && !this.#hasFinished) throw new AnswerFault('cut', 'the connection ended before the answer did');
    if (this.#choice === undefined) throw new AnswerFault('malformed', 'the answer holds no choice');
    const toolCalls = this.#allCalls();
    this.#text ||= textOf(this.#repeated?.['content']);
    const kept = this.#opaque.entries(this.#text, toolCalls);
    return {
      content: this.#text,
      toolCalls,
      usage: this.#usage,
      finishReason: normalFinishReason(this.#finishReason, { toolCalls: toolCalls.length, refusal: this.#refusal }),
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
      ...(kept === undefined ? {} : { providerItems: kept }),
    };
  }

  #allCalls(): RawToolCall[] {
    const entries = [...this.#calls].toSorted(([one], [other]) => one - other).map(([index, calls]) => ({ index, list: calls.list }));
    const calls: RawToolCall[] = [];
    for (const { index, list } of entries) {
      // A choice with text and calls is another answer, and not a part of this one.
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
    // Of several reasons the one that says that something is missing counts: routers add one of their own.
    if (this.#finishReason === undefined || endedByItself(this.#finishReason) || (isOurs && !endedByItself(word)))
      this.#finishReason = word;
  }

  #takeMessage(message: Record<string, unknown>, index: number, add: 'addDeltas' | 'addWhole'): void {
    const text = textOf(message['content']);
    const deltas = this.#takeCalls(message, index, add);
    // Of another choice only the calls belong to this answer.
    this.#opaque.take(index === this.#choice ? message : { tool_calls: message['tool_calls'] }, add === 'addWhole');
    if (index !== this.#choice) {
      if (text !== '') this.#alternatives.add(index);
    } else {
      const reasoning = REASONING.map((field) => textOf(message[field])).find((one) => one !== '') ?? '';
      const refusal = textOf(message['refusal']);
      if (reasoning + text + refusal !== '') this.#continue(index);
      this.#report('reasoning', reasoning);
      this.#text += text;
      this.#report('text', text);
      this.#refusal += refusal;
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

/** True unless their ids show that the calls of two choices are two. */
function mayBeSame(call: RawToolCall, other: RawToolCall): boolean {
  return isSameList([call], [other]) && (call.id === undefined || other.id === undefined || call.id === other.id);
}

/** The fields of reasoning. It is not part of the API, and the servers that send it use one of two names, or both. */
const REASONING = ['reasoning_content', 'reasoning'] as const;

/** Returns the index of a choice; 0 if it has none. */
function indexOf({ index }: Record<string, unknown>): number {
  return typeof index === 'number' || (typeof index === 'string' && /^\d{1,6}$/.test(index)) ? Number(index) : 0;
}

/** Returns the text, also from content parts, which some servers send. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}
