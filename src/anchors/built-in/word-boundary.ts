/** The source of an expression that holds where no character of a word precedes. Letters and digits of all scripts count. */
export const BEFORE_WORD = String.raw`(?<![\p{L}\p{N}_])`;

/** The source of an expression that holds where no character of a word follows. */
export const AFTER_WORD = String.raw`(?![\p{L}\p{N}_])`;

const WORD = /[\p{L}\p{N}_]/u;

/** True unless a word continues at an index of a text. */
export function isWordBoundary(text: string, index: number): boolean {
  return !(WORD.test(text.charAt(index - 1)) && WORD.test(text.charAt(index)));
}
