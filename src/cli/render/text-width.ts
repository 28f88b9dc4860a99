const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Text of which each character takes one column: most text, which need not be divided. */
const NARROW = /^[\u0020-\u007e\u00a1-\u02ff]*$/;

/**
 * What a terminal shows in two columns: ideographs, kana, Hangul, full-width forms, and symbols that are shown as emoji. Half-width forms
 * and Hangul jamo that belong to the letter before them are not among them.
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Marks and format characters without anything before them. */
const INVISIBLE = /^[\p{M}\p{Cf}\u200b]+$/u;

/** Returns the columns that a text without control characters takes on a terminal. */
export function textWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Returns the text, or as much of it as fits so many columns, with an ellipsis for the rest. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    left -= graphemeWidth(segment);
    if (left < 0) break;
    kept += segment;
  }
  return width < 1 ? '' : `${kept.trimEnd()}…`;
}

/** Returns the text with blanks up to a width. */
export function padToWidth(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - textWidth(text)))}`;
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}
