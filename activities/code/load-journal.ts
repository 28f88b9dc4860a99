import { ApplicationFailure } from '@temporalio/common';
import type { CodeJournal, JournalCell } from '../../src/core/domain/code/journal.ts';
import type { CodeCallResult } from '../../src/core/execution/executor.ts';
import { type JournalPage, type JournalQuestion, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from '../run-queries/access.ts';

/** Asks the run for its whole journal. */
export function loadJournal(run: OfRun): Promise<CodeJournal> {
  return load<CodeJournal>(run, {});
}

/** Asks the run for one cell of its journal. */
export function loadCell(run: OfRun, cell: number): Promise<JournalCell> {
  return load<JournalCell>(run, { cell });
}

/** Asks the run for the results of the calls of one segment. */
export function loadResults(run: OfRun, cell: number, segment: number): Promise<CodeCallResult[]> {
  return load<CodeCallResult[]>(run, { cell, segment });
}

async function load<Part>(run: OfRun, question: Omit<JournalQuestion, 'from'>): Promise<Part> {
  let text = '';
  for (;;) {
    const page = await queryRun<JournalPage>(run, QUERIES.journal, { ...question, from: text.length } satisfies JournalQuestion);
    text += page.text;
    if (text.length >= page.total) return JSON.parse(text) as Part;
    if (page.text !== '') continue;
    throw ApplicationFailure.create({ type: 'transcript_unavailable', message: 'The run gave only a part of its journal' });
  }
}
