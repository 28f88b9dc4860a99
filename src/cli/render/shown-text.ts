import { counted, oneLine, printable, printableLine, utf8Prefix } from '../../core/domain/text.ts';
import type { Output } from '../output.ts';

/** The bytes of arguments, messages and answers of steps that a line shows, unless all of a run is asked for. */
const LINE_BYTES = 300;

/** The bytes and the lines of a result that are shown. */
const RESULT_BYTES = 1_000;
const RESULT_LINES = 12;

/** Returns a text on one line: its beginning, or with `full` all of it. */
export function shownLine(text: string, full = false): string {
  return printableLine(full ? text : oneLine(text, LINE_BYTES));
}

/** The result of a call, and how it is shown. */
export interface ShownResult {
  text: string;
  isError: boolean;
  /** Milliseconds that the call took; null if that is not known. */
  durationMs?: number | null;
  /** All of it, instead of its beginning. */
  full?: boolean;
}

/**
 * Returns the result of a call: on the line of its arrow if it has one line, otherwise with a bar before each of its lines, so that none of
 * them can pass for a line of the program. A note says how much is left out.
 */
export function resultLines({ text, isError, durationMs = null, full = false }: ShownResult, output: Pick<Output, 'look'>): string[] {
  const whole = printable(text).trimEnd();
  const kept = full ? whole : beginning(whole);
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

function beginning(text: string): string {
  return utf8Prefix(text, RESULT_BYTES).split('\n').slice(0, RESULT_LINES).join('\n');
}
