/** The strategies of the wait between two attempts. */
export const BACKOFFS = ['none', 'linear', 'exponential'] as const;

/** The strategy of the wait between two attempts. */
export type Backoff = (typeof BACKOFFS)[number];

const LINEAR_MS = 1_000;
const EXPONENTIAL_MS = 500;
const MAX_MS = 30_000;

/** Returns the milliseconds to wait after a failed attempt, at most 30 seconds. The first attempt has the number 1. */
export function delayAfter(attempt: number, backoff: Backoff): number {
  switch (backoff) {
    case 'linear':
      return Math.min(LINEAR_MS * attempt, MAX_MS);
    case 'exponential':
      return Math.min(EXPONENTIAL_MS * 2 ** attempt, MAX_MS);
    default:
      return 0;
  }
}
