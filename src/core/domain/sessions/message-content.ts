import type { ErrorCode } from '../errors/error.ts';

/** The outcome of reading a message that the run which keeps the session has left in its call. */
export type MessageContent =
  | { type: 'read'; content: string }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled' };
