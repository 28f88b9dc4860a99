import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { StreamItem } from '../../../../client/stream/stream-item.ts';
import { isResponse } from '../../../../core/domain/record/run-record.ts';
import { type EndedRun, refusalOf } from '../answering/ended-run.ts';
import { outputText } from '../../../../core/domain/content/output-text.ts';
import type { Event } from '../../../../core/domain/record/event.ts';
import { streamSuperseded, runFailed } from '../errors/run-failed.ts';
import { entriesOf, isOutput } from '../responses/output-entries.ts';
import type { CompletionFacts } from './completion.ts';
import { completionUsage } from './completion-usage.ts';
import { finishReason } from './finish-reason.ts';

/** The options of the chunks of a completion. */
export interface ChunkOptions {
  includeUsage: boolean;
  /** True to send the answer alone, once the run has ended with it: it is JSON. */
  answerAlone: boolean;
}

/** A piece of text, or of the reasoning before it, which the API does not have and other servers add under this name. */
type ChunkDelta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string };

/** The line between the texts of two answers of the model. */
const BETWEEN = '\n\n';

/**
 * Turns the stream of a run, from its beginning, into the chunks of a completion. Text is sent as it arrives, and cannot be taken back:
 * throws `stream_superseded` once what was sent is not what the run has recorded.
 */
export class CompletionChunks {
  readonly #facts: CompletionFacts;
  readonly #options: ChunkOptions;
  /** The text of the call in flight that was sent. */
  #live: { eventId: string; text: string } | undefined;
  /** True: text was sent that the last answer of the model does not have. It is that of a refusal if the run ends as one. */
  #hasUnrecorded = false;
  #hasSent = false;
  /** A guarded text that may be the answer: it is sent once the run has continued, which shows that it was not the last one. */
  #held: string | undefined;
  #hasGap = false;
  #lastText: string | undefined;
  #lastFinish: string | undefined;

  constructor(facts: CompletionFacts, options: ChunkOptions) {
    this.#facts = facts;
    this.#options = options;
  }

  /** Begins the stream. */
  *begin(): Generator<ChatCompletionChunk> {
    yield this.#chunk({ role: 'assistant', content: '' });
  }

  /** Makes the chunks for an item of the run's stream. */
  *take(item: StreamItem): Generator<ChatCompletionChunk> {
    switch (item.type) {
      case 'delta':
        if (item.callId === undefined && !this.#hasGap) yield* this.#delta(item.eventId, item.delta);
        return;
      case 'reset':
        if (item.callId !== undefined) return;
        this.#hasGap = false;
        this.#requireLive(undefined, '');
        return;
      case 'gap':
        this.#hasGap = true;
        return;
      case 'event':
        this.#hasGap = false;
        yield* this.#event(item.event);
        return;
      case 'step':
        this.#lastFinish = item.step.finishReason;
        return;
      case 'end':
        yield* this.#end(item.result);
        return;
      case 'status':
        return;
    }
  }

  *#delta(eventId: string, delta: (StreamItem & { type: 'delta' })['delta']): Generator<ChatCompletionChunk> {
    if (delta.type === 'reasoning') yield this.#chunk({ reasoning_content: delta.text });
    if (delta.type !== 'text' || this.#options.answerAlone) return;
    if (this.#live?.eventId !== eventId) this.#requireLive(undefined, '');
    const { text } = (this.#live ??= { eventId, text: '' });
    yield* this.#text(text === '' && this.#hasSent ? `${BETWEEN}${delta.text}` : delta.text);
    this.#live = { eventId, text: text + delta.text };
  }

  *#event(event: Event): Generator<ChatCompletionChunk> {
    const entries = entriesOf(event);
    const messages = entries.filter((entry) => entry.type === 'message');
    if (entries.some(({ type }) => type !== 'result')) yield* this.#release();
    for (const { eventId, text, mayBeAnswer, isGuarded } of messages) {
      this.#lastText = mayBeAnswer && !isGuarded ? text : undefined;
      if (this.#options.answerAlone) continue;
      if (mayBeAnswer && isGuarded) {
        this.#held = text;
        continue;
      }
      const sent = this.#requireLive(eventId, text, mayBeAnswer);
      const rest = text.slice(sent.length);
      if (rest !== '') yield* sent === '' ? this.#words(rest) : this.#text(rest);
    }
    if (!isResponse(event) || messages.length > 0) return;
    this.#requireLive(event.id, '', !event.content.some(({ type }) => type === 'tool_call'));
  }

  *#release(): Generator<ChatCompletionChunk> {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) yield* this.#words(held);
  }

  /**
   * Forgets the text in flight, and returns it if the event has it. Throws if some was sent that it does not begin with. `mayBeRefusal`: the
   * text behind that of the event may be a refusal, which no event has. Whether it is one is known at the end of the run.
   */
  #requireLive(eventId: string | undefined, text: string, mayBeRefusal = false): string {
    const live = this.#live;
    this.#live = undefined;
    if (this.#hasUnrecorded) throw streamSuperseded();
    if (live === undefined) return '';
    if (live.eventId === eventId && text.startsWith(live.text)) return live.text;
    if (live.eventId !== eventId || !mayBeRefusal || !live.text.startsWith(text)) throw streamSuperseded();
    this.#hasUnrecorded = true;
    return live.text;
  }

  *#end(result: EndedRun): Generator<ChatCompletionChunk> {
    const refusal = refusalOf(result);
    if (refusal === undefined) this.#requireLive(undefined, '');
    const reason = finishReason(result, this.#lastFinish);
    if (reason === undefined) throw runFailed(result);
    if (refusal === undefined) yield* this.#answer(result);
    else yield this.#chunk({ refusal });
    yield this.#chunk({}, reason);
    if (!this.#options.includeUsage) return;
    yield { ...this.#chunk({}), choices: [], usage: completionUsage(result) };
  }

  /** Sends the answer, unless it was sent as it arrived. */
  *#answer(result: EndedRun): Generator<ChatCompletionChunk> {
    const isSent = !this.#options.answerAlone && this.#lastText !== undefined && isOutput(this.#lastText, result.output);
    const isTold = result.status === 'completed' || result.stopReason === 'guardrail' || this.#options.answerAlone;
    if (!isTold || isSent) return;
    const text = outputText(result.output);
    if (text !== '') yield* this.#words(text);
  }

  /** Sends a text of its own, behind those that were sent. */
  *#words(text: string): Generator<ChatCompletionChunk> {
    yield* this.#text(this.#hasSent ? `${BETWEEN}${text}` : text);
  }

  *#text(content: string): Generator<ChatCompletionChunk> {
    this.#hasSent = true;
    yield this.#chunk({ content });
  }

  #chunk(delta: ChunkDelta, reason: ChatCompletionChunk.Choice['finish_reason'] = null): ChatCompletionChunk {
    const { runId, agent, createdAt } = this.#facts;
    return {
      id: runId,
      object: 'chat.completion.chunk',
      created: createdAt,
      model: agent,
      choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }],
      ...(this.#options.includeUsage ? { usage: null } : {}),
    };
  }
}
