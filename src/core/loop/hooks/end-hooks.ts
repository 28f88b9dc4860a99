// Closing: the hooks at the end of a run.

import type { AgentSnapshot } from '../../domain/agent.ts';
import { END_EVENTS, type HookRecord, hooksFor } from '../../domain/hooks.ts';
import type { RunResultFields } from '../../domain/result.ts';

/** True if hooks are to be called at the end of the run. */
export function hasEndHooks(snapshot: Pick<AgentSnapshot, 'hooks'>): boolean {
  return hooksFor(snapshot, ...END_EVENTS).length > 0;
}

/** Returns the result with the answers of the hooks at the end of the run, after those at its start. */
export function endedWithHooks(result: RunResultFields, atEnd: readonly HookRecord[]): RunResultFields {
  return atEnd.length === 0 ? result : { ...result, hooks: [...(result.hooks ?? []), ...atEnd] };
}
