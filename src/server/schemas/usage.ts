import { z } from 'zod';
import { component } from './component.ts';

const tokens = { promptTokens: z.number(), completionTokens: z.number(), totalTokens: z.number() };

/** Usage that was estimated. */
export const estimatedUsage = component('EstimatedUsage', z.object({ ...tokens, costUsd: z.number().exactOptional() }));

/** The usage of one model call. */
export const usageStats = component(
  'UsageStats',
  z.object({
    ...tokens,
    cachedTokens: z.number().exactOptional(),
    cacheWriteTokens: z.number().exactOptional(),
    reasoningTokens: z.number().exactOptional(),
    costUsd: z.number().exactOptional(),
  }),
);

/** The usage of a run. */
export const aggregatedUsage = component(
  'AggregatedUsage',
  z.object({
    ...tokens,
    cachedTokens: z.number(),
    reasoningTokens: z.number(),
    llmCalls: z.number(),
    cacheWriteTokens: z.number().exactOptional(),
    costUsd: z.number().exactOptional(),
    estimated: estimatedUsage.exactOptional(),
  }),
);
