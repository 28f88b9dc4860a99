import { type Duration, milliseconds } from '../run/duration.ts';
import { UsageError } from '../errors/error.ts';
import type { LimitChanges } from './limits.ts';

/** Limits of a run. Each one is optional; without it there is no such limit, except for steps: an agent without it has 10. */
export interface LimitOptions {
  /** Steps: completed model calls, each with the tool calls that it asked for. At least 1. */
  steps?: number;
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

/** Every limit by its name. The compiler reports one that is missing here. */
const NAMES: Record<keyof LimitOptions, true> = {
  steps: true,
  toolCalls: true,
  toolCallsByName: true,
  inputTokens: true,
  outputTokens: true,
  totalTokens: true,
  costUsd: true,
  deadline: true,
};

/**
 * Converts limits to the JSON that a run takes, with the deadline in milliseconds. Throws a UsageError that begins with `owner` for an unknown limit, for steps that are not a whole
 * number of at least 1, and for a deadline that is not a duration.
 */
export function plainLimits(owner: string, limits: LimitOptions): LimitChanges {
  const unknown = Object.keys(limits).find((name) => !Object.hasOwn(NAMES, name));
  if (unknown !== undefined) {
    throw new UsageError(`${owner}: "limits" has an unknown option "${unknown}" (known: ${Object.keys(NAMES).join(', ')})`);
  }
  const { steps, deadline, ...counts } = limits;
  if (steps !== undefined && !(Number.isSafeInteger(steps) && steps >= 1)) {
    throw new UsageError(`${owner}: "limits.steps" is ${String(steps)}: write a whole number of at least 1`);
  }
  const defined = Object.fromEntries(Object.entries(counts).filter(([, limit]) => limit !== undefined));
  return {
    ...(steps === undefined ? {} : { steps }),
    ...defined,
    ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${owner}: "limits.deadline"`) }),
  };
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
