import { uniqueText } from '../script/unique-text.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import type { ExportLine } from '../../src/client/export-run.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';

const QUESTION = /^Question (\S+): /;
const ANSWER = /^Answer to (\S+): /;

/** The length of a question in characters, without its id. */
const QUESTION_CHARS = 200;

/** Returns the text of a question. Its id is not part of any other text. */
export function questionText(id: string, seed: number): string {
  return `Question ${id}: ${uniqueText(seed, QUESTION_CHARS)}`;
}

/** Returns the id of a question; undefined for any other text. */
export function questionIn(text: string): string | undefined {
  return QUESTION.exec(text)?.[1];
}

/** Returns the answer to a question. */
export function answerText(id: string, seed: number, chars: number): string {
  return `Answer to ${id}: ${uniqueText(seed, chars)}`;
}

/** Returns the id of the question that a text answers; undefined for any other text. */
function answerIn(text: string): string | undefined {
  return ANSWER.exec(text)?.[1];
}

/** The agent of all sessions: it has no tools, and defaults for everything else. */
export const talker = defineAgent({ name: 'talker', model: 'echo/model', instructions: 'You answer each question.' });

/** The activity that does nothing. */
export const EMPTY = 'empty';

/** The workflow types in addition to Longhaul's: empty activities in a chain, and one for each Update. */
export const EMPTY_ACTIVITIES = 'emptyActivities';
export const EMPTY_ON_UPDATE = 'emptyOnUpdate';

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
