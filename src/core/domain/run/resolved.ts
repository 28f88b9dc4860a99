import type { AgentSnapshot } from '../agent/agent-snapshot.ts';
import type { ErrorCode } from '../errors/error.ts';

/** The outcome of resolving an agent or a program. */
export type Resolved =
  | { type: 'resolved'; snapshot: AgentSnapshot }
  | { type: 'cancelled' }
  /** `notifiesEnd`: the worker that failed has a `notifyEnded` hook. */
  | { type: 'failed'; code: ErrorCode; message: string; notifiesEnd?: true };
