import { QueryNotRegisteredError } from '@temporalio/client';
import { ASK_AGAIN } from '../core/protocol.ts';
import { jitter } from './waiting.ts';

/** The text that an encrypting worker puts in the place of every message; the SDK drops the part from which it could be decoded. */
const ENCODED_MESSAGE = 'Encoded failure';

/**
 * True for the error of a query that is to be asked again: it made its worker load the run together with events that no
 * workflow task has handled yet, and was refused lest the run be stuck. With encryption any refusal of a query may be that one.
 */
export function isRetryableQueryError(error: unknown): boolean {
  return error instanceof QueryNotRegisteredError && (error.message.startsWith(ASK_AGAIN) || error.message === ENCODED_MESSAGE);
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** Milliseconds to wait before a query is asked again that was asked so many times. The workflow task that makes it answerable is on its way. */
export function retryQueryAfterMs(asked: number): number {
  return jitter(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (asked - 1)));
}
