import { z } from 'zod';
import { errorCode } from '../../core/domain/errors.ts';
import type { WaitOptions } from '../../temporal/waiting.ts';
import { type WaitingRequest, whileWaiting } from '../limits/while-waiting.ts';

/** The longest time that a request waits, in milliseconds: proxies end one that says nothing for longer. */
export const LONGEST_WAIT_MS = 60_000;

/** The query parameter of a route that can wait. */
export const waitParameter = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:ms|s|m)$/)
  .describe('The longest time to wait for the end, such as `30s`. More than 60 seconds count as 60. Default: none.');

/** The milliseconds of the units that a wait can have. */
const UNITS = { ms: 1, s: 1_000, m: 60_000 };

/** Returns the milliseconds of a wait, at most the longest; 0 for none. */
export function waitMs(wait: string | undefined): number {
  if (wait === undefined) return 0;
  const unit = wait.replace(/^[\d.]+/, '') as keyof typeof UNITS;
  return Math.min(Math.round(Number.parseFloat(wait) * UNITS[unit]), LONGEST_WAIT_MS);
}

/**
 * Waits for a value within the time of a request, as one of the caller's open streams. Undefined if it is not there in time, and if the
 * service is about to end: the caller asks again.
 */
export async function withinWait<Value>(
  ms: number,
  request: WaitingRequest & { signal: AbortSignal },
  work: (options: WaitOptions) => Promise<Value>,
): Promise<Value | undefined> {
  return ms < 1 ? undefined : whileWaiting(request, () => valueWithin(ms, request.signal, work));
}

/** Waits in the same way, for a request that has its place already. */
export async function valueWithin<Value>(
  ms: number,
  signal: AbortSignal,
  work: (options: WaitOptions) => Promise<Value>,
): Promise<Value | undefined> {
  if (ms < 1) return undefined;
  try {
    return await work({ timeout: ms, signal });
  } catch (error) {
    if (signal.aborted || errorCode(error) === 'wait_timeout') return undefined;
    throw error;
  }
}
