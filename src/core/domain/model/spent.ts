import { cleanUsage } from './clean-usage.ts';
import type { Spent, UsageStats } from './usage.ts';
import { activityDetails } from '../errors/worker-wait.ts';

/**
 * The details of a heartbeat or a failure that report the cost of failed attempts of a model call. The next attempt reads them
 * from the last heartbeat, and the run reads them from the last failure.
 */
export interface SpentDetails {
  spent: Spent;
}

/** Adds up the cost of attempts; undefined if neither has any. */
export function addSpent(one: Spent | undefined, other: Spent | undefined): Spent | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return spent(sum(one.reported, other.reported), sum(one.estimated, other.estimated));
}

/** Reads the cost from the details of a heartbeat or a failure; undefined if they hold none. Nothing in the details is trusted. */
export function spentIn(details: unknown): Spent | undefined {
  const claim = fieldOf(activityDetails(details), 'spent');
  return spent(cleanUsage(fieldOf(claim, 'reported')) ?? undefined, cleanUsage(fieldOf(claim, 'estimated')) ?? undefined);
}

function spent(reported: UsageStats | undefined, estimated: UsageStats | undefined): Spent | undefined {
  if (reported === undefined && estimated === undefined) return undefined;
  return { ...(reported === undefined ? {} : { reported }), ...(estimated === undefined ? {} : { estimated }) };
}

/** Adds up tokens without their cost: the run knows the prices and adds the cost itself. */
function sum(one: UsageStats | undefined, other: UsageStats | undefined): UsageStats | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const field = (name: 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens'): Partial<UsageStats> =>
    one[name] === undefined && other[name] === undefined ? {} : { [name]: (one[name] ?? 0) + (other[name] ?? 0) };
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    ...field('cachedTokens'),
    ...field('cacheWriteTokens'),
    ...field('reasoningTokens'),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
