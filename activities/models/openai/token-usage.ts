import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import type { UsageStats } from '../../../src/core/domain/model/usage.ts';

/** Returns the usage that a provider reports, in either API; null if it reports none. */
export function tokenUsage(reported: unknown): UsageStats | null {
  if (!isJsonObject(reported)) return null;
  const prompt = count(reported['prompt_tokens']) ?? count(reported['input_tokens']);
  const completion = count(reported['completion_tokens']) ?? count(reported['output_tokens']);
  if (prompt === undefined && completion === undefined) return null;
  const cached = detail(reported, ['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens');
  const written = detail(reported, ['prompt_tokens_details', 'input_tokens_details'], 'cache_write_tokens');
  const reasoning = detail(reported, ['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens');
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    totalTokens: count(reported['total_tokens']) ?? (prompt ?? 0) + (completion ?? 0),
    ...(cached === undefined ? {} : { cachedTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function detail(usage: Record<string, unknown>, groups: string[], name: string): number | undefined {
  for (const group of groups) {
    const details = usage[group];
    if (isJsonObject(details)) return count(details[name]);
  }
  return undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
