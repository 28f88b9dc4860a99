import type { LimitChanges, RunLimits } from './limits.ts';

/** The limits that are one number each. */
const NUMBERS = ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd', 'deadlineMs'] as const;

/**
 * Returns limits of which none is higher than its ceiling. A limit that is absent becomes its ceiling. A final attempt is one of the
 * steps below the ceiling; if only one step is left, there is none.
 */
export function narrowLimits<Limits extends Partial<RunLimits>>(limits: Limits, ceiling: LimitChanges = {}): Limits {
  const narrowed: Partial<RunLimits> = { ...limits };
  for (const name of NUMBERS) {
    const most = ceiling[name];
    if (most !== undefined) narrowed[name] = Math.min(most, limits[name] ?? most);
  }
  if (ceiling.steps !== undefined) {
    const finalAttempt = limits.finalAttempt === true && ceiling.steps > 1;
    const most = ceiling.steps - (finalAttempt ? 1 : 0);
    narrowed.steps = Math.min(most, limits.steps ?? most);
    if (limits.finalAttempt !== undefined) narrowed.finalAttempt = finalAttempt;
  }
  const byName = Object.entries(ceiling.toolCallsByName ?? {});
  if (byName.length > 0) {
    const own = new Map(Object.entries(limits.toolCallsByName ?? {}));
    for (const [tool, most] of byName) own.set(tool, Math.min(most, own.get(tool) ?? most));
    narrowed.toolCallsByName = Object.fromEntries(own);
  }
  return { ...limits, ...narrowed };
}
