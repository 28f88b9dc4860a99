import type { FlowPolicy } from '../flows/flow-policy.ts';
import { CALL_EVENTS } from './hook-event.ts';
import { hooksFor, type HookSnapshot, remoteHooks } from './hook-snapshot.ts';

/**
 * Returns the hooks that review the calls of a response in an activity of their own: those of tier `remote`. For a parallel flow, whose
 * calls come from no model call that could review them, all of them.
 */
export function hooksBeforeCalls(run: { hooks?: HookSnapshot[]; flow?: FlowPolicy }): HookSnapshot[] {
  return run.flow?.kind === 'parallel' ? hooksFor(run, ...CALL_EVENTS) : remoteHooks(run, ...CALL_EVENTS);
}
