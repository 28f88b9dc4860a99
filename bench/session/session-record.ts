import type { ExportLine } from '../../src/client/export-run.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import { answerIn, questionIn } from './question.ts';

/** The content of the record of a session. */
export interface CheckedRecord {
  /** Questions without a place in the record, or without an answer. */
  lost: number;
  /** Questions that are recorded or answered more than once. */
  doubled: number;
  /** Answers to another question than the one before them, and ends of turns with another number. */
  misplaced: number;
  turns: number;
}

/** Reads the export of a session and checks that it has each of the questions once, in their order, each followed by its answer and the end of its turn. */
export async function checkRecord(lines: AsyncIterable<ExportLine>, questions: readonly string[]): Promise<CheckedRecord> {
  const asked = new Map<string, number>();
  const answered = new Map<string, number>();
  let newest: string | undefined;
  let misplaced = 0;
  let turns = 0;
  for await (const line of lines) {
    if (line.type !== 'event') continue;
    const text = line.content.map(messageText).join('');
    const question = line.author === 'user' && line.compaction === undefined ? questionIn(text) : undefined;
    if (question !== undefined) {
      count(asked, question);
      newest = question;
    }
    const answer = answerIn(text);
    if (answer !== undefined) {
      count(answered, answer);
      if (answer !== newest) misplaced += 1;
    }
    if (line.turn === undefined) continue;
    if (line.turn.number !== turns + 1 || newest !== questions[turns]) misplaced += 1;
    turns += 1;
  }
  const times = (id: string): [number, number] => [asked.get(id) ?? 0, answered.get(id) ?? 0];
  return {
    lost: questions.filter((id) => times(id).includes(0)).length,
    doubled: questions.filter((id) => Math.max(...times(id)) > 1).length,
    misplaced,
    turns,
  };
}

function messageText(item: ContentItem): string {
  return item.type === 'message' && typeof item.content === 'string' ? item.content : '';
}

function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1);
}
