import type { UsageStats } from './usage.ts';

/** Returns token counts that can be added up: anything but a whole number of at least 0 counts as not reported. Null if none is left. */
export function cleanUsage(usage: unknown): UsageStats | null {
  if (typeof usage !== 'object' || usage === null) return null;
  const fields = usage as Partial<Record<keyof UsageStats, unknown>>;
  const prompt = count(fields.promptTokens);
  const completion = count(fields.completionTokens);
  const total = count(fields.totalTokens);
  if (prompt === undefined && completion === undefined && total === undefined) return null;
  const cached = count(fields.cachedTokens);
  const written = count(fields.cacheWriteTokens);
  const reasoning = count(fields.reasoningTokens);
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    totalTokens: total ?? (prompt ?? 0) + (completion ?? 0),
    ...(cached === undefined ? {} : { cachedTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function count(value: unknown): number | undefined {
  // Adding 0 turns -0 into 0: JSON does not keep -0.
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) + 0 : undefined;
}
