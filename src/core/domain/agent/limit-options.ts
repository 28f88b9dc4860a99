import { type Duration, milliseconds } from '../run/duration.ts';
import { UsageError } from '../errors/error.ts';
import type { LimitChanges } from './limits.ts';

/** What a run may use. What is left out is not limited, but for steps: those of an agent that says nothing are 10. */
export interface LimitOptions {
  /** Steps: completed model calls, each with the tool calls that it asked for. At least 1. */
  steps?: number;
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

/** Every limit by its name: one that is added to the type is missed here by the compiler. */
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
 * Limits as they travel: plain JSON, the steps under the name that a run and its result have for them, the deadline in
 * milliseconds. Throws a UsageError, which `owner` begins, for a name that is no limit, for steps that are no whole number
 * of at least 1, and for a deadline that is no duration.
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
  const given = Object.fromEntries(Object.entries(counts).filter(([, limit]) => limit !== undefined));
  return {
    ...(steps === undefined ? {} : { maxIterations: steps }),
    ...given,
    ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${owner}: "limits.deadline"`) }),
  };
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
