import { now, timeText } from '../figures/machine.ts';

/** A token that a reader got. */
export interface Token {
  /** Its number in the run, from 0. */
  index: number;
  /** The time when the provider sent it. */
  sentAt: number;
}

const INDEX_DIGITS = 6;
const TOKEN = /(\d+)@(\d+\.\d+) /g;

/** Returns a token that is sent now. All tokens have the same length, so that the histories of two runs of a script can be compared. */
export function tokenText(index: number): string {
  return `${String(index).padStart(INDEX_DIGITS, '0')}@${timeText(now())} `;
}

/** Returns the tokens in a text: the text of an answer, or a piece of it. */
export function tokensIn(text: string): Token[] {
  return [...text.matchAll(TOKEN)].map(([, index, sentAt]) => ({ index: Number(index), sentAt: Number(sentAt) }));
}
