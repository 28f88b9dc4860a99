import { uniqueText } from '../script/unique-text.ts';

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
export function answerIn(text: string): string | undefined {
  return ANSWER.exec(text)?.[1];
}
