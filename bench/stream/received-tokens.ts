import { outputText } from '../../src/core/domain/content.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { StreamItem } from '../../src/client/index.ts';
import { tokensIn } from './token.ts';

/** Counts the tokens that a reader got as deltas, compared with the record. */
export class ReceivedTokens {
  /** Milliseconds from the sending of each token to its receipt. */
  readonly delays: number[] = [];
  readonly #got = new Map<number, number>();
  readonly #recorded = new Set<number>();

  /** Takes an item that was received at that time. */
  take(item: StreamItem, at: number): void {
    if (item.type === 'event') for (const { index } of tokensIn(textOf(item.event))) this.#recorded.add(index);
    if (item.type !== 'delta' || item.delta.type !== 'text') return;
    for (const { index, sentAt } of tokensIn(item.delta.text)) {
      this.delays.push(at - sentAt);
      this.#got.set(index, (this.#got.get(index) ?? 0) + 1);
    }
  }

  /** The tokens of the record that no delta brought. */
  get lost(): number {
    return [...this.#recorded].filter((index) => !this.#got.has(index)).length;
  }

  /** The tokens that came again. */
  get duplicated(): number {
    return [...this.#got.values()].reduce((total, times) => total + times - 1, 0);
  }
}

function textOf({ content, author }: Event): string {
  if (author === 'user') return '';
  return content.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join('');
}
