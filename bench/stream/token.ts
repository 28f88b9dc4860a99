import { now, timeText } from '../figures/machine.ts';
import { fileURLToPath } from 'node:url';
import { type FakeProvider, startFakeProvider } from '../../test/processes/fake-provider.ts';

/** A token that a reader got. */
interface Token {
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

/** The first message of a run, as JSON: each answer streams `tokens` tokens, and all but the last one call a tool. */
export interface TokenScript {
  /** Steps with a call. */
  steps: number;
  /** Tokens of each answer. */
  tokens: number;
  /** Tokens in a second; 0: without a pause. */
  rate: number;
  /** Milliseconds before the first token, so that runs which began together do not stream in step. */
  phaseMs: number;
  /** True: a call that waits for approval comes first. */
  asks?: boolean;
}

/** Starts a provider that answers as the script of each run says, and stamps each token with its send time. */
export function startTokenProvider(): Promise<FakeProvider> {
  return startFakeProvider(fileURLToPath(new URL('../processes/token-provider.ts', import.meta.url)));
}
