import { z } from 'zod';
import { component } from './component.ts';

/** The limits that a run had at its end. */
export const limitValues = component(
  'LimitValues',
  z.object({
    steps: z.number(),
    toolCalls: z.number().exactOptional(),
    toolCallsByName: z.record(z.string(), z.number()).exactOptional(),
    inputTokens: z.number().exactOptional(),
    outputTokens: z.number().exactOptional(),
    totalTokens: z.number().exactOptional(),
    costUsd: z.number().exactOptional(),
    deadlineMs: z.number().exactOptional(),
  }),
);

/** The limits of a run, as it reports them. */
export const runLimits = component(
  'RunLimits',
  limitValues.extend({ finalAttempt: z.boolean(), onLimit: z.literal('ask').exactOptional() }),
);
