/** Tokens of one model call. `cachedTokens` are part of the prompt, `reasoningTokens` part of the completion. */
export interface UsageStats {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
}

/** Tokens of all model calls of a run (seed 001), and how many calls there were. */
export interface AggregatedUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  llmCalls: number;
}

/** The usage of a run that has not called a model yet. */
export function noUsage(): AggregatedUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };
}

/** The sum of `total` and one more model call. A call whose provider reported nothing (null) still counts as a call. */
export function addUsage(total: AggregatedUsage, call: UsageStats | null): AggregatedUsage {
  return {
    promptTokens: total.promptTokens + (call?.promptTokens ?? 0),
    completionTokens: total.completionTokens + (call?.completionTokens ?? 0),
    totalTokens: total.totalTokens + (call?.totalTokens ?? 0),
    cachedTokens: total.cachedTokens + (call?.cachedTokens ?? 0),
    reasoningTokens: total.reasoningTokens + (call?.reasoningTokens ?? 0),
    llmCalls: total.llmCalls + 1,
  };
}
