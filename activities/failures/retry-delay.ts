import { msToNumber } from '@temporalio/common/lib/time.js';

/** The longest wait that a failure may ask for. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1_000;

/**
 * A wait before the next attempt as Temporal takes it: whole milliseconds, at most a day. Undefined for what is no wait:
 * encoding it would throw where nothing catches it, and end the worker.
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
