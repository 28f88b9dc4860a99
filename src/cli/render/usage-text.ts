import type { EstimatedUsage, Spent, UsageStats } from '../../core/domain/model/usage.ts';
import { dollars } from '../../core/domain/model/dollars.ts';

/** What a model call cost: as the provider said, else as estimated. */
export function usageText(usage: UsageStats | null, estimated: EstimatedUsage | undefined): string {
  if (usage !== null) return reportedText(usage);
  return estimated === undefined ? 'tokens unknown' : estimatedText(estimated);
}

/** What failed attempts cost. */
export function spentText({ reported, estimated }: Spent): string {
  return [...(reported === undefined ? [] : [reportedText(reported)]), ...(estimated === undefined ? [] : [estimatedText(estimated)])].join(
    ', ',
  );
}

function reportedText({ totalTokens, promptTokens, completionTokens, cachedTokens, reasoningTokens, costUsd }: UsageStats): string {
  const read = cachedTokens ? `${promptTokens} in, ${cachedTokens} of them cached` : `${promptTokens} in`;
  const written = reasoningTokens ? `${completionTokens} out, ${reasoningTokens} of them reasoning` : `${completionTokens} out`;
  return `${totalTokens} tokens (${read}; ${written})${costText(costUsd)}`;
}

function estimatedText({ totalTokens, promptTokens, completionTokens, costUsd }: EstimatedUsage): string {
  return `about ${totalTokens} tokens (${promptTokens} in; ${completionTokens} out)${costText(costUsd)}, estimated`;
}

function costText(costUsd: number | undefined): string {
  return costUsd === undefined ? '' : `, ${dollars(costUsd)}`;
}
