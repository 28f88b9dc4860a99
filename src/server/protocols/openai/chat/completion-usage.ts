import type { CompletionUsage } from 'openai/resources/completions';
import type { EndedRun } from '../answering/ended-run.ts';
import { usageOf } from '../responses/response-body.ts';

/** Returns the usage of a run and of all runs below it. */
export function completionUsage(result: Pick<EndedRun, 'usage' | 'below'>): CompletionUsage {
  const usage = usageOf(result);
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
