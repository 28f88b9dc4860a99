import { type Duration, milliseconds } from '../run/duration.ts';
import { UsageError } from '../errors/error.ts';
import type { LimitChanges } from './limits.ts';

/** What a run may use beside its steps. What is left out is not limited. Steps are limited by `maxIterations`. */
export interface LimitOptions {
  /** Tool calls that may start, of all tools together. 0: none. */
  toolCalls?: number;
  /** Tool calls that may start, by the name of the tool. */
  toolCallsByName?: Readonly<Record<string, number>>;
  inputTokens?: number;
  outputTokens?: number;
  /** Input and output together. */
  totalTokens?: number;
  /** US dollars, by the prices that the worker knows: without a price for the model the run does not start. */
  costUsd?: number;
  /** From the start of the run, whatever it waits for. */
  deadline?: Duration;
}

/** Limits as they travel: plain JSON, with the deadline in milliseconds. Throws a UsageError, which `owner` begins, for a deadline that is no duration. */
export function plainLimits(owner: string, { deadline, ...counts }: LimitOptions): Omit<LimitChanges, 'maxIterations'> {
  const given = Object.fromEntries(Object.entries(counts).filter(([, limit]) => limit !== undefined));
  return { ...given, ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${owner}: "limits.deadline"`) }) };
}

/** The limits of one start, with the deadline that may be given beside them. Throws a UsageError, which `owner` begins, for two deadlines. */
export function limitsWithDeadline(
  owner: string,
  { limits, deadline }: { limits?: LimitOptions; deadline?: Duration },
): LimitOptions | undefined {
  if (deadline === undefined) return limits;
  if (limits?.deadline === undefined) return { ...limits, deadline };
  throw new UsageError(`${owner}: there are two deadlines, "deadline" and "limits.deadline": write one of them`);
}
