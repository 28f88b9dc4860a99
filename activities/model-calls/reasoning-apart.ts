import type { ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import type { ModelDelta } from '../../src/core/domain/stream/delta.ts';
import { ReasoningSplitter, splitReasoning } from '../../src/model/split-reasoning.ts';

/**
 * Keeps the reasoning that an answer begins with (`<think>…</think>`) out of its text: its pieces become pieces of reasoning, as those
 * of a provider that marks them. `settings.thinkTags: 'text'` leaves everything as it is. Never throws for what a client reports.
 */
export class ReasoningApart {
  readonly #onDelta: (delta: ModelDelta) => void;
  readonly #splitter: ReasoningSplitter | undefined;
  #hasText = false;

  constructor({ settings }: Pick<ModelRequest, 'settings'>, onDelta: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
    this.#splitter = settings.thinkTags === 'text' ? undefined : new ReasoningSplitter();
  }

  /** Passes on a piece of the answer, which may be none. */
  take(given: ModelDelta): void {
    const { type, text } = fieldsOf(given);
    if (this.#splitter === undefined || type !== 'text' || typeof text !== 'string') {
      this.#onDelta(given);
      return;
    }
    this.#hasText = true;
    for (const piece of this.#splitter.add(text)) this.#onDelta(piece);
  }

  /** Passes on what was held back, because more might have followed. */
  end(): void {
    for (const piece of this.#splitter?.end() ?? []) this.#onDelta(piece);
  }

  /** Returns the answer without the reasoning. If the client has reported no text, the reasoning is passed on as one piece. */
  answer(given: ModelResponse): ModelResponse {
    const { content } = fieldsOf(given);
    if (this.#splitter === undefined || typeof content !== 'string') return given;
    const { text, reasoning } = splitReasoning(content);
    if (text === content) return given;
    if (!this.#hasText && reasoning !== '') this.#onDelta({ type: 'reasoning', text: reasoning });
    return { ...given, content: text };
  }
}

function fieldsOf(value: unknown): Partial<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value : {};
}
