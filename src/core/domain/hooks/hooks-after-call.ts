import type { ToolSnapshot } from '../agent/agent-snapshot.ts';
import { AFTER_CALL_EVENTS } from './hook-event.ts';
import { hooksFor, type HookSnapshot, remoteHooks } from './hook-snapshot.ts';

/** Returns the hooks for the result of a call that run in an activity of their own: all, if it has run an agent, which has no activity. */
export function hooksAfterCall(
  run: { hooks?: HookSnapshot[] },
  { agent, handoff }: Pick<ToolSnapshot, 'agent' | 'handoff'>,
): HookSnapshot[] {
  if (handoff || run.hooks === undefined) return [];
  return agent === undefined ? remoteHooks(run, 'post_tool_use') : hooksFor(run, ...AFTER_CALL_EVENTS);
}
