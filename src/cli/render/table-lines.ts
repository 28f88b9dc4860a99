import type { Output } from '../output.ts';

/** A column of a table. A title alone is a column that stays as wide as its cells. */
export interface Column {
  title: string;
  /** Columns that it needs at least, if the terminal is too narrow: longer cells are cut. Absent: its cells are never cut. */
  least?: number;
  /** It is left out if the terminal is too narrow: those with lower numbers first. Absent: it stays. */
  leaves?: number;
}

/** The gap between two columns. */
const GAP = '  ';

/**
 * Returns a table for people: a header, and columns as wide as their content. On a terminal that is too narrow for it, the longest cells
 * that may be cut are, then columns are left out, and at last the lines are cut.
 */
export function tableLines(
  header: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>,
): string[] {
  const columns = header.map((one) => (typeof one === 'string' ? { title: one } : one));
  const { columns: room = Infinity } = output;
  const widths = columns.map(({ title }, index) => Math.max(textWidth(title), ...rows.map((row) => textWidth(row[index] ?? ''))));
  const shown = fitted(columns, widths, room);
  const line = (cells: readonly string[]): string => {
    const padded = shown.map(({ index, width }) => padToWidth(cutToWidth(cells[index] ?? '', width), width));
    return cutToWidth(padded.join(GAP).trimEnd(), room);
  };
  return [output.look('bold', line(columns.map(({ title }) => title))), ...rows.map(line)];
}

/** A column that is shown, and its width. */
interface Shown {
  index: number;
  width: number;
}

/** Returns the columns that are shown, each with a width, so that they fit the room if they can. */
function fitted(columns: readonly Column[], widths: readonly number[], room: number): Shown[] {
  let shown = columns.map(({ title, least }, index) => {
    const width = widths[index] ?? 0;
    return { index, width, least: least === undefined ? width : Math.min(width, Math.max(least, textWidth(title))) };
  });
  for (;;) {
    const total = shown.reduce((sum, { least }) => sum + least, GAP.length * (shown.length - 1));
    const next = shown
      .filter(({ index }) => columns[index]?.leaves !== undefined)
      .toSorted((one, other) => (columns[one.index]?.leaves ?? 0) - (columns[other.index]?.leaves ?? 0))[0];
    if (total <= room || next === undefined) break;
    shown = shown.filter(({ index }) => index !== next.index);
  }
  return narrowed(shown, room - GAP.length * (shown.length - 1));
}

/** Takes from the widest columns first, and from none more than it can spare. */
function narrowed(shown: readonly (Shown & { least: number })[], room: number): Shown[] {
  const result = shown.map((one) => ({ ...one }));
  let over = result.reduce((sum, { width }) => sum + width, 0) - room;
  while (over > 0) {
    const widest = result.filter(({ width, least }) => width > least).toSorted((one, other) => other.width - one.width)[0];
    if (widest === undefined) break;
    widest.width -= 1;
    over -= 1;
  }
  return result;
}

/** Columns that ids keep at least, and those that they need at most: ids of runs below another one are long, and begin alike. */
const LEAST_OF_ID = 14;
const MOST_OF_ID = 36;

/** Returns the columns that a column of ids needs at least, so that ids which are cut still differ from each other. */
export function leastOfIds(ids: readonly string[]): number {
  const sorted = ids.toSorted();
  const shared = sorted.map((id, index) => sharedLength(id, sorted[index + 1] ?? ''));
  // One more character to tell them apart, and the ellipsis.
  return Math.min(MOST_OF_ID, Math.max(LEAST_OF_ID, ...shared.map((length) => length + 2)));
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

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
