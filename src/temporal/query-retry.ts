import { QueryNotRegisteredError } from '@temporalio/client';
import { ASK_AGAIN } from '../core/protocol.ts';
import { jitter } from './waiting.ts';

/**
 * The text that replaces every message of an encrypting worker; the SDK drops the part from which it could be
 * decoded.
 */
const ENCODED_MESSAGE = 'Encoded failure';

/**
 * True for the error of a query that can be sent again: its worker loaded the run together with events that no
 * workflow task had handled yet, and refused the query so that the run does not get stuck. With encryption, every
 * refusal of a query may be of this kind.
 */
export function isRetryableQueryError(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && (error.message.startsWith(ASK_AGAIN) || error.message === ENCODED_MESSAGE);
}

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 500;

/**
 * Returns the milliseconds to wait before a query is sent again after so many attempts. The workflow task that makes
 * it answerable is already under way.
 */
export function retryQueryAfterMs(attempts: number): number {
  return jitter(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)));
}
