/** The marks around reasoning at the beginning of an answer, as models write them if their server does not take the reasoning out. */
const BLOCKS: readonly { open: string; close: string }[] = [
  { open: '<think>', close: '</think>' },
  { open: '<thinking>', close: '</thinking>' },
  { open: '<thought>', close: '</thought>' },
  { open: '<reasoning>', close: '</reasoning>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|channel|>analysis<|message|>', close: '<|end|><|start|>assistant<|channel|>final<|message|>' },
];

/** The most blanks before the first block: an answer that begins with more of them is text. */
const MAX_BLANKS = 1_000;

/** A piece of an answer, by what it is. */
export interface AnswerPiece {
  type: 'text' | 'reasoning';
  text: string;
}

/**
 * Takes the reasoning out of an answer that begins with it (`<think>…</think>`), while the answer arrives in pieces of any size. Blocks
 * count only at the very beginning, one after the other; what follows the last one, without the blanks before it, is the answer. Nothing
 * after a block that is not closed is an answer.
 */
export class ReasoningSplitter {
  /** What has arrived and is not yet known to be one or the other. */
  #held = '';
  #at: 'beginning' | 'text' | { close: string } = 'beginning';
  #hasReasoned = false;

  /** Returns the pieces that are known by now. */
  add(text: string): AnswerPiece[] {
    if (this.#at === 'text') return piece('text', text);
    this.#held += text;
    const pieces: AnswerPiece[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) pieces.push(...next);
    return pieces;
  }

  /** Returns the rest: nothing more arrives. */
  end(): AnswerPiece[] {
    const rest = this.#held;
    this.#held = '';
    return piece(typeof this.#at === 'object' ? 'reasoning' : 'text', rest);
  }

  /** Takes one step; undefined if more has to arrive first. */
  #next(): AnswerPiece[] | undefined {
    if (this.#at === 'text') return undefined;
    return this.#at === 'beginning' ? this.#begin() : this.#reason(this.#at.close);
  }

  #begin(): AnswerPiece[] | undefined {
    const held = this.#held.trimStart();
    const blanks = this.#held.length - held.length;
    if (this.#hasReasoned) this.#held = held;
    const mayBegin = this.#hasReasoned || blanks <= MAX_BLANKS;
    const block = mayBegin ? BLOCKS.find(({ open }) => held.startsWith(open)) : undefined;
    if (block !== undefined) {
      this.#held = held.slice(block.open.length);
      this.#at = { close: block.close };
      this.#hasReasoned = true;
      return [];
    }
    if (mayBegin && BLOCKS.some(({ open }) => open.startsWith(held))) return undefined;
    const text = this.#held;
    this.#held = '';
    this.#at = 'text';
    return piece('text', text);
  }

  #reason(close: string): AnswerPiece[] | undefined {
    const end = this.#held.indexOf(close);
    if (end >= 0) {
      const reasoning = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + close.length);
      this.#at = 'beginning';
      return piece('reasoning', reasoning);
    }
    const known = this.#held.slice(0, this.#held.length - beginningAtEnd(this.#held, close));
    if (known === '') return undefined;
    this.#held = this.#held.slice(known.length);
    return piece('reasoning', known);
  }
}

/** Returns an answer without the reasoning that it begins with, and that reasoning. */
export function splitReasoning(answer: string): Record<AnswerPiece['type'], string> {
  const splitter = new ReasoningSplitter();
  const pieces = [...splitter.add(answer), ...splitter.end()];
  const joined = (type: AnswerPiece['type']): string =>
    pieces
      .filter((one) => one.type === type)
      .map(({ text }) => text)
      .join('');
  return { text: joined('text'), reasoning: joined('reasoning') };
}

function piece(type: AnswerPiece['type'], text: string): AnswerPiece[] {
  return text === '' ? [] : [{ type, text }];
}

/** Returns the length of the longest end of a text with which a mark begins. */
function beginningAtEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
