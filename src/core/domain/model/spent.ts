import { cleanUsage } from './clean-usage.ts';
import type { Spent, UsageStats } from './usage.ts';
import { meantDetails } from '../errors/worker-wait.ts';

/**
 * How what was spent travels beside a call to a model: in the details of its heartbeats, where the next attempt finds
 * it, and in those of its last failure, where the run does.
 */
export interface SpentDetails {
  spent: Spent;
}

/** The sum of what attempts have cost; undefined where that is nothing. */
export function addSpent(one: Spent | undefined, other: Spent | undefined): Spent | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return spent(sum(one.reported, other.reported), sum(one.estimated, other.estimated));
}

/** What was spent, where details of a heartbeat or a failure say it. They may be anything, and nothing in them is trusted. */
export function spentIn(details: unknown): Spent | undefined {
  const said = fieldOf(meantDetails(details), 'spent');
  return spent(cleanUsage(fieldOf(said, 'reported')) ?? undefined, cleanUsage(fieldOf(said, 'estimated')) ?? undefined);
}

function spent(reported: UsageStats | undefined, estimated: UsageStats | undefined): Spent | undefined {
  if (reported === undefined && estimated === undefined) return undefined;
  return { ...(reported === undefined ? {} : { reported }), ...(estimated === undefined ? {} : { estimated }) };
}

/** Without the cost: the run knows the prices, and adds it. */
function sum(one: UsageStats | undefined, other: UsageStats | undefined): UsageStats | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const field = (name: 'cachedTokens' | 'reasoningTokens'): Partial<UsageStats> =>
    one[name] === undefined && other[name] === undefined ? {} : { [name]: (one[name] ?? 0) + (other[name] ?? 0) };
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...field('cachedTokens'),
    ...field('reasoningTokens'),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
