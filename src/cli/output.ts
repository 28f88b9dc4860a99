import { styleText } from 'node:util';
import type { JsonValue } from '../core/domain/json.ts';
import { ANYWHERE, counted, oneLine, printable, printableLine, utf8Prefix } from '../core/domain/text.ts';
import type { OutputStream, Terminal } from './terminal.ts';

/** A style of text on a terminal that shows colors. */
export type Look = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** The output of a command: results on stdout, remarks on stderr. */
export class Output {
  /** True for machine-readable output: one JSON value on stdout, or JSON Lines for lists. */
  readonly json: boolean;
  /** True if stdout shows colors. */
  readonly color: boolean;
  /** The name of this program in commands to copy. */
  readonly program: string;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;

  constructor(terminal: Pick<Terminal, 'stdout' | 'stderr' | 'env' | 'program'>, json: boolean) {
    this.json = json;
    this.program = terminal.program ?? ANYWHERE;
    this.#stdout = terminal.stdout;
    this.#stderr = terminal.stderr;
    this.color = !json && showsColor(terminal);
  }

  /** Prints a line of the result, for people. */
  print(line: string): void {
    this.#stdout.write(`${line}\n`);
  }

  /** Writes a part of a line of the result. */
  write(text: string): void {
    this.#stdout.write(text);
  }

  /** True if the result is shown to a person as it comes. */
  get isLive(): boolean {
    return !this.json && this.#stdout.isTTY === true;
  }

  /** The columns of the terminal that shows the result; undefined if something else reads it and gets whole lines. */
  get columns(): number | undefined {
    return this.#stdout.isTTY === true ? this.#stdout.columns : undefined;
  }

  /** Prints a line of the result, for machines. */
  printJson(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** Prints the result of a command: JSON for machines, one or more lines for people. Returns the exit code for success. */
  result(json: unknown, text: string | Iterable<string>): number {
    if (this.json) this.printJson(json);
    else for (const line of typeof text === 'string' ? [text] : text) this.print(line);
    return 0;
  }

  /** Prints a remark that is not part of the result. */
  note(line: string): void {
    this.#stderr.write(`${line}\n`);
  }

  /** Returns the text in a style, if the terminal shows colors. */
  look(look: Look, text: string): string {
    return this.color ? styleText(look, text, { validateStream: false }) : text;
  }
}

/** True on a terminal, unless the user has turned colors off (NO_COLOR) or the terminal cannot show them. */
export function showsColor({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>): boolean {
  return stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

/** A fact for people. One without a value is left out. */
export type Fact = readonly [name: string, value: string | undefined];

/** Returns facts, one per line, with their names in a column. */
export function factLines(facts: readonly Fact[], output: Pick<Output, 'look'>, width = 9): string[] {
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [`${output.look('dim', name.padEnd(width))} ${value}`]));
}

/** A column of a table. Only a title: the column stays as wide as its cells. */
interface Column {
  title: string;
  /** The minimum width in columns on a narrow terminal: longer cells are cut. Absent: its cells are never cut. */
  least?: number;
  /** The order in which columns are left out on a narrow terminal: lower numbers first. Absent: it stays. */
  leaves?: number;
}

/** The gap between two columns. */
const GAP = '  ';

/**
 * Returns a table for people: a header, and columns as wide as their content. On a terminal that is too narrow, the longest cells
 * that may be cut are cut, then columns are left out, and finally the lines are cut.
 */
export function tableLines(
  header: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>,
): string[] {
  const columns = header.map((one) => (typeof one === 'string' ? { title: one } : one));
  const { columns: room = Infinity } = output;
  const widths = columns.map(({ title }, index) => Math.max(textWidth(title), ...rows.map((row) => textWidth(row[index] ?? ''))));
  const shown = fitColumns(columns, widths, room);
  const line = (cells: readonly string[]): string => {
    const padded = shown.map(({ index, width }) => padToWidth(cutToWidth(cells[index] ?? '', width), width));
    return cutToWidth(padded.join(GAP).trimEnd(), room);
  };
  return [output.look('bold', line(columns.map(({ title }) => title))), ...rows.map(line)];
}

/** A column of a list of entries, with its text for each of them. */
export interface EntryColumn<Entry> extends Column {
  of: (entry: Entry) => string;
  /** The column is only shown if an entry has a text for it. */
  ifAny?: true;
}

/** Returns entries as a table. */
export function entryLines<Entry>(
  entries: readonly Entry[],
  columns: readonly EntryColumn<Entry>[],
  output: Parameters<typeof tableLines>[2],
): string[] {
  const shown = columns.filter(({ of, ifAny }) => ifAny === undefined || entries.some((entry) => of(entry) !== ''));
  const rows = entries.map((entry) => shown.map(({ of }) => printableLine(of(entry))));
  return tableLines(shown, rows, output);
}

/** A column that is shown, and its width. */
interface FittedColumn {
  index: number;
  width: number;
}

/** Returns the columns that are shown, each with a width, so that they fit the room if they can. */
function fitColumns(columns: readonly Column[], widths: readonly number[], room: number): FittedColumn[] {
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
  return narrowColumns(shown, room - GAP.length * (shown.length - 1));
}

/** Narrows the widest columns first, each by at most what it can spare. */
function narrowColumns(shown: readonly (FittedColumn & { least: number })[], room: number): FittedColumn[] {
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

/** The minimum and maximum width of ids in columns: ids of descendants are long and share a prefix. */
const LEAST_OF_ID = 14;
const MOST_OF_ID = 36;

/** Returns the minimum width of a column of ids, so that cut ids still differ from each other. */
export function leastOfIds(ids: readonly string[]): number {
  const sorted = ids.toSorted();
  const shared = sorted.map((id, index) => sharedLength(id, sorted[index + 1] ?? ''));
  // One more character to distinguish them, and the ellipsis.
  return Math.min(MOST_OF_ID, Math.max(LEAST_OF_ID, ...shared.map((length) => length + 2)));
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Matches text with one column per character: most text, which need not be segmented. */
const NARROW = /^[\u0020-\u007e\u00a1-\u02ff]*$/;

/**
 * Characters that take two columns: ideographs, kana, Hangul, full-width forms, and symbols that are shown as emoji. Not half-width
 * forms, or Hangul jamo that combine with the letter before them.
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|[\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Matches marks and format characters without a base character. */
const ZERO_WIDTH = /^[\p{M}\p{Cf}\u200b]+$/u;

/** Returns the columns that a text without control characters takes on a terminal. */
export function textWidth(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Returns the text, or as much of it as fits into this many columns, with an ellipsis for the rest. */
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
  return ZERO_WIDTH.test(grapheme) ? 0 : 1;
}

/** The bytes of arguments, messages and answers on a line, unless the whole run is requested. */
const LINE_BYTES = 300;

/** The bytes and the lines of a result that are shown. */
const RESULT_BYTES = 1_000;
const RESULT_LINES = 12;

/** Returns a text on one line: its beginning, or with `full` all of it. */
export function lineText(text: string, full = false): string {
  return printableLine(full ? text : oneLine(text, LINE_BYTES));
}

/** The result of a call, and how it is shown. */
interface ShownResult {
  text: string;
  isError: boolean;
  /** Milliseconds that the call took; null if that is not known. */
  durationMs?: number | null;
  /** True to show all of it, not only its beginning. */
  full?: boolean;
}

/**
 * Returns the result of a call: on the line of its arrow if it has one line, otherwise with a bar before each of its lines, so that no
 * line can be mistaken for the program's output. A note says how much is left out.
 */
export function resultLines({ text, isError, durationMs = null, full = false }: ShownResult, output: Pick<Output, 'look'>): string[] {
  const whole = printable(text).trimEnd();
  const kept = full ? whole : utf8Prefix(whole, RESULT_BYTES).split('\n').slice(0, RESULT_LINES).join('\n');
  const left = Array.from(whole.slice(kept.length)).length;
  const took = durationMs === null ? '' : output.look('dim', ` (${Math.round(durationMs)} ms)`);
  const style = (line: string): string => (isError ? output.look('red', line) : line);
  const note = left === 0 ? [] : [output.look('dim', `│ … ${counted(left, 'more character')}: "show --full" prints all`)];
  const lines = kept.split('\n');
  if (lines.length === 1) return [`← ${style(`${isError ? 'error: ' : ''}${kept}${left === 0 ? '' : '…'}`)}${took}`.trimEnd(), ...note];
  return [
    `←${isError ? ` ${style('error:')}` : ''}${took}`,
    ...lines.map((line) => `${output.look('dim', '│')} ${style(line)}`.trimEnd()),
    ...note,
  ];
}

/**
 * Invisible characters, and those that change the order of the text around them: an approver must see what is really
 * there.
 */
const INVISIBLE = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/g;

/** Returns JSON text for an approver, with invisible characters escaped. */
export function visibleText(json: string): string {
  return printable(json.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`));
}

/** Returns a value as JSON with invisible characters escaped, on several lines if `indent` is given. */
export function visibleJson(value: JsonValue, indent?: number): string {
  return visibleText(JSON.stringify(value, null, indent));
}

/** Returns a time for people: ISO 8601 in UTC, to the second. Accepts milliseconds since the epoch, or ISO 8601. */
export function pointInTime(moment: number | string): string {
  return new Date(moment).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The fact that an event records in addition to its content, in one line, with its style. */
export interface Headline {
  text: string;
  look: Look;
}
