// Shared state: the part of the limits of a run that is left for its children.

import type { LimitChanges } from '../../domain/agent/limits.ts';
import type { RunState } from '../state/run-state.ts';
import { used } from './limits.ts';

/** Returns the amounts that are left of the limits of a run, apart from its steps. Must be called before a limit is reached. */
export function limitsLeft(state: RunState, now: number): LimitChanges {
  const { limits, startedAt, toolCallsStarted } = state;
  const spent = used(state);
  const left: LimitChanges = {};
  for (const name of ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const) {
    const limit = limits[name];
    if (limit !== undefined) left[name] = Math.max(0, limit - spent[name]);
  }
  if (limits.deadlineMs !== undefined) left.deadlineMs = Math.max(1, startedAt + limits.deadlineMs - now);
  const byName = Object.entries(limits.toolCallsByName ?? {});
  if (byName.length > 0) {
    left.toolCallsByName = Object.fromEntries(
      byName.map(([name, limit]) => [name, Math.max(0, limit - (toolCallsStarted.get(name) ?? 0))]),
    );
  }
  return left;
}
