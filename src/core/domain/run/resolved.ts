import type { AgentSnapshot } from '../agent/agent-snapshot.ts';
import type { ErrorCode } from '../errors/error.ts';
import type { ChildInputAnswer } from './child-messages.ts';

/** The outcome of resolving an agent or a program. */
export type Resolved =
  /** `opening`: the input and the deps that the first activity has asked the parent for. */
  | { type: 'resolved'; snapshot: AgentSnapshot; opening?: ChildInputAnswer }
  | { type: 'cancelled' }
  /** `notifiesEnd`: the worker that failed has a `notifyEnded` hook. */
  | { type: 'failed'; code: ErrorCode; message: string; notifiesEnd?: true };
