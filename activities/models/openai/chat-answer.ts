import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import type { ModelResponse } from '../../../src/core/domain/model/model.ts';
import type { UsageStats } from '../../../src/core/domain/model/usage.ts';
import type { ModelDelta } from '../../../src/core/domain/stream/delta.ts';
import { AnswerFault, isReportedError, ReportedFault } from '../errors/answer-fault.ts';
import { ChatToolCalls } from './chat-tool-calls.ts';
import type { AnswerListener } from './answer-listener.ts';
import type { AnswerPiece } from './exchange.ts';
import { normalFinishReason } from './finish-reason.ts';
import { tokenUsage } from './token-usage.ts';

/** Assembles the first choice of a Chat Completions answer, from the chunks of a stream or from a whole completion. */
export class ChatAnswer {
  readonly #listener: AnswerListener;
  readonly #calls = new ChatToolCalls();
  #choice: unknown;
  #text = '';
  #refusal = '';
  #usage: UsageStats | null = null;
  #finishReason: string | undefined;
  #ended = false;

  constructor(listener: AnswerListener = {}) {
    this.#listener = listener;
  }

  /** True once the model has finished: only the usage may follow. */
  get finished(): boolean {
    return this.#finishReason !== undefined || this.#ended;
  }

  /** True once nothing of use can follow. */
  get complete(): boolean {
    return this.#finishReason !== undefined && this.#usage !== null;
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
    const choices: unknown = data['choices'];
    if (Array.isArray(choices)) this.#takeChoice(choices.find((choice) => this.#isOurs(choice)));
  }

  /** Returns the whole answer. Throws an `AnswerFault` if there is none or it is cut. */
  response(): ModelResponse {
    if (!this.finished) throw new AnswerFault('cut', 'the connection ended before the answer did');
    if (this.#choice === undefined) throw new AnswerFault('malformed', 'the answer holds no choice');
    const toolCalls = this.#calls.list;
    return {
      content: this.#text,
      toolCalls,
      usage: this.#usage,
      finishReason: normalFinishReason(this.#finishReason, { toolCalls: toolCalls.length, refusal: this.#refusal }),
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
    };
  }

  #isOurs(choice: unknown): boolean {
    return isJsonObject(choice) && (this.#choice === undefined || indexOf(choice) === this.#choice);
  }

  #takeChoice(choice: unknown): void {
    if (!isJsonObject(choice)) return;
    this.#choice = indexOf(choice);
    const { delta, message, finish_reason: finishReason } = choice;
    if (isJsonObject(delta)) this.#takeMessage(delta, (call) => this.#calls.addDelta(call));
    else if (isJsonObject(message)) this.#takeMessage(message, (call) => this.#calls.addWhole(call));
    if (typeof finishReason === 'string' && finishReason !== '') this.#finishReason = finishReason;
  }

  #takeMessage(message: Record<string, unknown>, addCall: (call: unknown) => ModelDelta | undefined): void {
    this.#report('reasoning', REASONING.map((field) => textOf(message[field])).find((text) => text !== '') ?? '');
    const text = textOf(message['content']);
    this.#text += text;
    this.#report('text', text);
    const refusal = textOf(message['refusal']);
    this.#refusal += refusal;
    this.#report('text', refusal);
    const calls: unknown = message['tool_calls'];
    if (!Array.isArray(calls)) return;
    for (const call of calls) {
      const delta = addCall(call);
      if (delta !== undefined) this.#listener.onDelta?.(delta);
    }
  }

  #report(type: 'text' | 'reasoning', text: string): void {
    if (text !== '') this.#listener.onDelta?.({ type, text });
  }
}

/** The fields of reasoning. It is not part of the API, and the servers that send it use one of two names, or both. */
const REASONING = ['reasoning_content', 'reasoning'] as const;

/** Returns the index of a choice; 0 if it has none. */
function indexOf(choice: Record<string, unknown>): unknown {
  return typeof choice['index'] === 'number' ? choice['index'] : 0;
}

/** Returns the text, also from content parts, which some servers send. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}
