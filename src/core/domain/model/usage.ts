/** Tokens of one model call. `cachedTokens` are part of the prompt, `reasoningTokens` part of the completion. */
export interface UsageStats {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** US dollars, where the price of the model is known. */
  costUsd?: number;
}

/** Tokens of all model calls of a run (seed 001), and how many calls there were. */
export interface AggregatedUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  llmCalls: number;
  /** US dollars of what providers reported, as far as prices are known. */
  costUsd?: number;
  /** What no provider reported, estimated from the size of requests and answers. It is not part of the other counts, and limits count it. */
  estimated?: EstimatedUsage;
}

/** Tokens that were estimated, because an answer was interrupted, an attempt failed, or a provider reported nothing. */
export type EstimatedUsage = Pick<UsageStats, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'costUsd'>;

/** What calls to a model cost that is not in the usage of an answer: as reported, and as estimated where nobody reported it. */
export interface Spent {
  reported?: UsageStats;
  estimated?: EstimatedUsage;
}

/** The usage of a run that has not called a model yet. */
export function noUsage(): AggregatedUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };
}

/** The sum of `total` and what a call reported, or an attempt of one. Counts no call. */
export function addReported(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  if (call === null) return total;
  const costUsd = call.costUsd === undefined ? {} : { costUsd: (total.costUsd ?? 0) + call.costUsd };
  return {
    ...total,
    promptTokens: total.promptTokens + call.promptTokens,
    completionTokens: total.completionTokens + call.completionTokens,
    totalTokens: total.totalTokens + call.totalTokens,
    cachedTokens: total.cachedTokens + (call.cachedTokens ?? 0),
    reasoningTokens: total.reasoningTokens + (call.reasoningTokens ?? 0),
    ...costUsd,
  };
}

/** The sum of `total` and what was estimated. */
export function addEstimated(total: AggregatedUsage, more: EstimatedUsage | undefined): AggregatedUsage {
  if (more === undefined) return total;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, costUsd } = total.estimated ?? {};
  const cost = costUsd === undefined && more.costUsd === undefined ? {} : { costUsd: (costUsd ?? 0) + (more.costUsd ?? 0) };
  const estimated = {
    promptTokens: promptTokens + more.promptTokens,
    completionTokens: completionTokens + more.completionTokens,
    totalTokens: totalTokens + more.totalTokens,
    ...cost,
  };
  return { ...total, estimated };
}

/** The sum of `total` and one more model call. A call whose provider reported nothing (null) still counts as a call. */
export function addUsage(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  return { ...addReported(total, call), llmCalls: total.llmCalls + 1 };
}
