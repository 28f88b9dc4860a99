import type { ModelDelta } from '../../../../core/domain/stream/delta.ts';
import { callChunk, type RecordedParts } from './recorded-parts.ts';
import type { UiChunk } from './ui-chunk.ts';

/** The answer of one model call: as it streams, and then as its event has it. Text that was streamed is not sent again. */
export class LiveResponse {
  readonly eventId: string;
  #text: string | undefined;
  /** All reasoning so far. The record has none: what was streamed stays. */
  #reasoning = '';
  #isReasoning = false;
  readonly #calls: { callId: string; toolName: string }[] = [];
  /** True: a call began before the text, which the record has in the other order. */
  #isOutOfOrder = false;

  constructor(eventId: string) {
    this.eventId = eventId;
  }

  /** Takes a piece of output. */
  *take(delta: ModelDelta): Generator<UiChunk> {
    switch (delta.type) {
      case 'reasoning':
        if (!this.#isReasoning) yield { type: 'reasoning-start', id: this.#id };
        this.#isReasoning = true;
        this.#reasoning += delta.text;
        yield { type: 'reasoning-delta', id: this.#id, delta: delta.text };
        return;
      case 'text':
        yield* this.#endReasoning();
        yield* this.#appendText(delta.text);
        return;
      case 'tool_input':
        yield* this.#endReasoning();
        yield* this.#appendInput(delta);
        return;
    }
  }

  /** Ends the answer as it was recorded. If that does not go on from what was streamed, it takes that back first. */
  *end(recorded: RecordedParts): Generator<UiChunk> {
    if (!this.#goesOnAs(recorded)) {
      yield { type: 'reset-step' };
      this.#isReasoning = false;
      this.#text = undefined;
      if (this.#reasoning !== '') yield* reasoningChunks(this.#id, this.#reasoning);
    }
    yield* this.#endReasoning();
    const { text, files, calls } = recorded;
    if (text !== '') {
      const rest = text.slice(this.#text?.length ?? 0);
      if (rest !== '') yield* this.#appendText(rest);
      yield { type: 'text-end', id: this.#id };
    }
    for (const file of files) yield { type: 'file', ...file };
    for (const call of calls) yield callChunk(call);
  }

  /** The id of its parts of text and reasoning, which are counted separately. */
  get #id(): string {
    return this.eventId;
  }

  *#appendText(text: string): Generator<UiChunk> {
    if (text === '') return;
    if (this.#text === undefined) {
      yield { type: 'text-start', id: this.#id };
      this.#isOutOfOrder ||= this.#calls.length > 0;
    }
    this.#text = `${this.#text ?? ''}${text}`;
    yield { type: 'text-delta', id: this.#id, delta: text };
  }

  *#appendInput({ callId, toolName, text }: ModelDelta & { type: 'tool_input' }): Generator<UiChunk> {
    if (!this.#calls.some((call) => call.callId === callId)) {
      this.#calls.push({ callId, toolName });
      yield { type: 'tool-input-start', toolCallId: callId, toolName };
    }
    if (text !== '') yield { type: 'tool-input-delta', toolCallId: callId, inputTextDelta: text };
  }

  *#endReasoning(): Generator<UiChunk> {
    if (this.#isReasoning) yield { type: 'reasoning-end', id: this.#id };
    this.#isReasoning = false;
  }

  #goesOnAs({ text, files, calls }: RecordedParts): boolean {
    if (this.#isOutOfOrder || !text.startsWith(this.#text ?? '')) return false;
    if (this.#calls.length === 0) return true;
    // Calls that were streamed come behind everything else.
    const isWhole = files.length === 0 && text === (this.#text ?? '');
    return isWhole && this.#calls.every(({ callId, toolName }, index) => isCall(calls[index], callId, toolName));
  }
}

function isCall(call: RecordedParts['calls'][number] | undefined, callId: string, toolName: string): boolean {
  return call?.toolCallId === callId && call.name === toolName;
}

function* reasoningChunks(id: string, text: string): Generator<UiChunk> {
  yield { type: 'reasoning-start', id };
  yield { type: 'reasoning-delta', id, delta: text };
  yield { type: 'reasoning-end', id };
}
