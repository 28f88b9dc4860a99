/** The source of an expression that holds where no character of a word precedes. Letters and digits of all scripts count. */
export const BEFORE_WORD = String.raw`(?<![\p{L}\p{N}_])`;

/** The source of an expression that holds where no character of a word follows. */
export const AFTER_WORD = String.raw`(?![\p{L}\p{N}_])`;
