import { type AggregatedUsage, addRunUsage, noUsage } from '../model/usage.ts';
import type { LimitChanges } from '../agent/limits.ts';

/** The amounts that the runs below a run have used, as far as they have ended. They are no part of the usage of the run itself. */
export interface SpentBelow {
  usage: AggregatedUsage;
  toolCalls: number;
  /** The number of runs that were started. */
  runs: number;
}

/** The amounts of a run that has ended. */
export interface SpentRun {
  usage: AggregatedUsage;
  toolCallsTotal: number;
  below?: SpentBelow;
}

/** Returns the amounts with those of a child that has ended, and of the runs below it. `isNew`: false for a further turn of a session, which counts as one run. */
export function withChild(before: SpentBelow | undefined, { usage, toolCallsTotal, below }: SpentRun, isNew = true): SpentBelow {
  const { usage: spent, toolCalls, runs } = before ?? nothingBelow();
  const ofBelow = below ?? nothingBelow();
  return {
    usage: addRunUsage(addRunUsage(spent, usage), ofBelow.usage),
    toolCalls: toolCalls + toolCallsTotal + ofBelow.toolCalls,
    runs: runs + (isNew ? 1 : 0) + ofBelow.runs,
  };
}

/** Returns the amounts with those of a child whose use is not known. It counts as having used all that it was given. */
export function withUnknownChild(before: SpentBelow | undefined, given: LimitChanges, runsGiven: number, isNew = true): SpentBelow {
  const { usage, toolCalls, runs } = before ?? nothingBelow();
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens, costUsd } = given;
  const estimated = {
    promptTokens: inputTokens,
    completionTokens: outputTokens,
    totalTokens,
    ...(costUsd === undefined ? {} : { costUsd }),
  };
  return {
    usage: totalTokens === 0 && costUsd === undefined ? usage : addRunUsage(usage, { ...noUsage(), estimated }),
    toolCalls: toolCalls + (given.toolCalls ?? 0),
    runs: runs + (isNew ? 1 : 0) + runsGiven,
  };
}

function nothingBelow(): SpentBelow {
  return { usage: noUsage(), toolCalls: 0, runs: 0 };
}
