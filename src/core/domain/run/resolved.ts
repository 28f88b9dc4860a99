import type { AgentSnapshot } from '../agent/agent-snapshot.ts';
import type { ErrorCode } from '../errors/error.ts';
import type { Notice } from '../record/notice.ts';
import type { ChildInputAnswer } from './child-messages.ts';

/** The outcome of resolving an agent or a program. */
export type Resolved =
  /** `opening`: the input and the deps that the first activity has asked the parent for. `notices`: what a person should know of the tools. */
  | { type: 'resolved'; snapshot: AgentSnapshot; opening?: ChildInputAnswer; notices?: Notice[] }
  | { type: 'cancelled' }
  /** `notifiesEnd`: the worker that failed has a `notifyEnded` hook. */
  | { type: 'failed'; code: ErrorCode; message: string; notifiesEnd?: true };
