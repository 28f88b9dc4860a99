import { ApplicationFailure } from '@temporalio/common';
import type { JournalPage, JournalQuestion } from '../domain/code/segment-messages.ts';
import type { QueriedRun } from './queried-run.ts';

/** Characters of one page: an answer is one payload of at most 2 MiB, and a character has up to three bytes. */
const PAGE_CHARACTERS = 500_000;

/** Answers the `journal` query: one page of the JSON text of the journal, of one of its cells, or of the results of a segment. */
export function journalPage({ runId, state }: QueriedRun, question: JournalQuestion | null | undefined): JournalPage {
  const { from, cell, segment } = question ?? { from: 0 };
  const journal = state?.code?.journal ?? { cells: [] };
  const asked = cell === undefined ? undefined : journal.cells[cell];
  const part = segment === undefined ? asked : asked?.segments[segment]?.results;
  if (cell !== undefined && part === undefined) {
    const message = `Run "${runId}" has no cell ${cell}${segment === undefined ? '' : ` with results of segment ${segment}`} in its journal`;
    throw ApplicationFailure.create({ type: 'not_ready', message });
  }
  const text = JSON.stringify(part ?? journal);
  const start = typeof from === 'number' ? from : 0;
  return { text: text.slice(start, start + PAGE_CHARACTERS), total: text.length };
}
