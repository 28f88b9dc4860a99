import { type Duration, milliseconds } from '../run/duration.ts';
import { UsageError } from '../errors/error.ts';
import type { LimitChanges } from './limits.ts';

/** Limits of a run besides its steps, which `maxIterations` limits. Each one is optional; without it, there is no such limit. */
export interface LimitOptions {
  /** The number of tool calls that may start, of all tools together. 0: none. */
  toolCalls?: number;
  /** The number of tool calls that may start, by the name of the tool. */
  toolCallsByName?: Readonly<Record<string, number>>;
  inputTokens?: number;
  outputTokens?: number;
  /** Input and output together. */
  totalTokens?: number;
  /** US dollars, by the prices that the worker knows. Without a price for the model, the run does not start. */
  costUsd?: number;
  /** The time from the start of the run, including all time in which it waits. */
  deadline?: Duration;
}

/**
 * Converts limits to plain JSON, with the deadline in milliseconds. Throws a UsageError that begins with `owner` if the deadline is
 * not a duration.
 */
export function plainLimits(owner: string, { deadline, ...counts }: LimitOptions): Omit<LimitChanges, 'maxIterations'> {
  const defined = Object.fromEntries(Object.entries(counts).filter(([, limit]) => limit !== undefined));
  return { ...defined, ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${owner}: "limits.deadline"`) }) };
}

/** Merges the `deadline` option of a start into its limits. Throws a UsageError that begins with `owner` if there are two deadlines. */
export function limitsWithDeadline(
  owner: string,
  { limits, deadline }: { limits?: LimitOptions; deadline?: Duration },
): LimitOptions | undefined {
  if (deadline === undefined) return limits;
  if (limits?.deadline === undefined) return { ...limits, deadline };
  throw new UsageError(`${owner}: there are two deadlines, "deadline" and "limits.deadline": write one of them`);
}
