// Shared state: the cells of a run.

import type { JournalCell } from '../../domain/code/journal.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import type { RunState } from '../state/run-state.ts';
import type { CodeState } from './code-state.ts';

/** Bytes of JSON of the journal that is carried into the next execution. */
const CARRIED_JOURNAL_BYTES = 300_000;

/** Returns the code of the run, which begins with its first cell. */
export function codeOf(state: RunState): CodeState {
  return (state.code ??= { journal: { cells: [] }, records: [] });
}

/** Returns the cell in progress, which is the last one of the journal. */
export function currentCell(state: RunState): JournalCell {
  const cell = codeOf(state).journal.cells.at(-1);
  if (cell === undefined) throw new TypeError('The journal of the run has no cell');
  return cell;
}

/** Removes the cell in progress from the journal: its values are not part of the namespace. */
export function dropCell(state: RunState): void {
  const { journal } = codeOf(state);
  codeOf(state).journal = { ...journal, cells: journal.cells.slice(0, -1) };
}

/** Returns the number of calls that the segments of a cell have made. */
export function callsOf({ segments }: JournalCell): number {
  return segments.reduce((calls, { results = [] }) => calls + results.length, 0);
}

/** Forgets the cells between two steps if they are too large to be carried. The model is told with the result of the next cell. */
export function forgetLargeJournal({ code }: RunState): void {
  if (code !== undefined && jsonBytes(code.journal) > CARRIED_JOURNAL_BYTES) code.journal = { cells: [], isLost: true };
}
