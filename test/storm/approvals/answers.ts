import type { Decision } from '../../../src/core/domain/approvals.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';
import type { DecisionReceipt } from '../../../src/core/protocol.ts';

/** A decision of a client. */
export interface SentDecision {
  runId: string;
  callId: string;
  digest: string;
  type: 'approve' | 'reject';
  id: string;
}

/** The answer that a client got. */
export interface Answer {
  sent: SentDecision;
  /** Milliseconds until the answer, repeated requests included. */
  ms: number;
  outcome: { type: 'receipt'; receipt: DecisionReceipt } | { type: 'refused'; code: string; message: string };
}

/** The code and message of an error for the client. */
export function refusedWith(error: unknown): Answer['outcome'] {
  const code = error instanceof LonghaulError ? error.code : 'no code';
  // Only the cause of an SDK failure says what has happened.
  const cause = error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : '';
  return { type: 'refused', code, message: `${errorMessage(error)}${cause}` };
}

/** The reason why the answer is not true, compared with the decision in the run's record; undefined if it is true. */
export function untruth({ sent, outcome }: Answer, winner: Decision): string | undefined {
  const who = `decision "${sent.id}" (${sent.type}) on run "${sent.runId}"`;
  const won = `"${winner.id}" (${winner.type})`;
  const hasWon = sent.id === winner.id;
  if (outcome.type === 'receipt') {
    const { id, type } = outcome.receipt.decision;
    return hasWon && id === winner.id && type === winner.type
      ? undefined
      : `${who} was told that "${id}" (${type}) counts, where ${won} does`;
  }
  const { code, message } = outcome;
  if (hasWon || code !== 'already_decided') return `${who} was refused with ${code}: ${message}`;
  const verb = { approve: 'approved', reject: 'rejected', respond: 'answered' }[winner.type];
  const isNamed = message.includes(`"${winner.id}"`) && message.includes(verb) && message.includes(winner.at);
  return isNamed ? undefined : `${who} was not told that ${won} counts, but: ${message}`;
}

/** The number of answers of each kind, for the figures. */
export function answerCounts(answers: readonly Answer[]): Record<string, number> {
  const kinds = answers.map(({ outcome }) => (outcome.type === 'receipt' ? outcome.receipt.status : outcome.code));
  const names = [...new Set(kinds)].toSorted();
  return Object.fromEntries(names.map((name) => [name, kinds.filter((kind) => kind === name).length]));
}
