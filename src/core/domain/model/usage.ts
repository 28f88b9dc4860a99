/** Tokens of one model call. `cachedTokens` and `cacheWriteTokens` are part of the prompt, `reasoningTokens` part of the completion. */
export interface UsageStats {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  /** Tokens that the provider read from its cache. */
  cachedTokens?: number;
  /** Tokens that the provider wrote to its cache. */
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  /** US dollars, if the price of the model is known. */
  costUsd?: number;
}

/** Tokens of all model calls of a run, and the number of calls. */
export interface AggregatedUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  llmCalls: number;
  /** Absent if no provider reported any. */
  cacheWriteTokens?: number;
  /** US dollars of the reported usage, as far as prices are known. */
  costUsd?: number;
  /**
   * Usage that no provider reported, estimated from the size of requests and answers. It is not part of the other counts, but
   * counts against limits.
   */
  estimated?: EstimatedUsage;
}

/** Tokens that were estimated, because an answer was interrupted, an attempt failed, or a provider reported nothing. */
export type EstimatedUsage = Pick<UsageStats, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'costUsd'>;

/** Cost of model calls that is not in the usage of an answer: as the provider reported it, and estimated if the provider did not. */
export interface Spent {
  reported?: UsageStats;
  estimated?: EstimatedUsage;
}

/** Returns the usage of a run that has not called a model yet. */
export function noUsage(): AggregatedUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };
}

/** Adds the reported usage of a call, or of one attempt, to `total`. Counts no call. */
export function addReported(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  if (call === null) return total;
  const costUsd = call.costUsd === undefined ? {} : { costUsd: (total.costUsd ?? 0) + call.costUsd };
  const { cacheWriteTokens } = call;
  const written = cacheWriteTokens === undefined ? {} : { cacheWriteTokens: (total.cacheWriteTokens ?? 0) + cacheWriteTokens };
  return {
    ...total,
    promptTokens: total.promptTokens + call.promptTokens,
    completionTokens: total.completionTokens + call.completionTokens,
    totalTokens: total.totalTokens + call.totalTokens,
    cachedTokens: total.cachedTokens + (call.cachedTokens ?? 0),
    reasoningTokens: total.reasoningTokens + (call.reasoningTokens ?? 0),
    ...written,
    ...costUsd,
  };
}

/** Adds the usage of a whole run to `total`. */
export function addRunUsage(total: AggregatedUsage, { estimated, llmCalls, ...reported }: AggregatedUsage): AggregatedUsage {
  const sum = addEstimated(addReported(total, reported), estimated);
  return { ...sum, llmCalls: total.llmCalls + llmCalls };
}

/** Adds estimated usage to `total`. */
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

/** Adds one more model call to `total`. A call whose provider reported nothing (null) still counts as a call. */
export function addUsage(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  return { ...addReported(total, call), llmCalls: total.llmCalls + 1 };
}
