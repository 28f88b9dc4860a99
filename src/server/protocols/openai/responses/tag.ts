import { createHash } from 'node:crypto';

/** The number of tags. */
export const TAGS = 2 ** 14;

/**
 * Tells an item, with its text so far, from those that may stand in its place. Half of the tags are those of items whose id bears a mark,
 * because another item of the reader has had the same.
 */
export class Tag {
  readonly #hash;
  readonly #isMarked: boolean;

  /** `id`: without the mark. */
  constructor(id: string, hasMark = false) {
    this.#hash = createHash('sha256').update(`${id}\n`);
    this.#isMarked = hasMark;
  }

  /** The tag of the text so far. */
  get value(): number {
    const digest = this.#hash.copy().digest().readUInt16BE() % (TAGS / 2);
    return digest * 2 + (this.#isMarked ? 1 : 0);
  }

  /** Adds text. Pieces may end in the middle of a character. */
  add(text: string): void {
    this.#hash.update(Buffer.from(text, 'utf16le'));
  }
}

/** Returns the tag of an item with a text, or without one. */
export function tagOf(id: string, text = ''): number {
  const tag = new Tag(id);
  tag.add(text);
  return tag.value;
}

/** True if the tag is that of an item whose id bears the mark. */
export function isMarked(tag: number): boolean {
  return tag % 2 === 1;
}

/** Returns the tag of the same item without the mark. */
export function unmarked(tag: number): number {
  return tag - (tag % 2);
}
