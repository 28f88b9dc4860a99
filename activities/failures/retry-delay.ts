import { msToNumber } from '@temporalio/common/lib/time.js';

/** The longest delay that a failure may ask for. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1_000;

/**
 * Returns the delay before the next attempt in a form that Temporal accepts: whole milliseconds, at most a day. Returns
 * undefined for an invalid delay: encoding it would throw where nothing catches the error, and end the worker.
 */
export function retryDelay(wait: unknown): number | undefined {
  const ms = typeof wait === 'string' ? millisecondsOf(wait) : wait;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) return undefined;
  return Math.ceil(Math.min(ms, LONGEST_WAIT_MS));
}

function millisecondsOf(text: string): number | undefined {
  try {
    return msToNumber(text as Parameters<typeof msToNumber>[0]);
  } catch {
    return undefined;
  }
}
