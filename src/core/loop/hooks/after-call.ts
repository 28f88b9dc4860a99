// Tool phase: the hooks for the result of a call that run in an activity of their own.

import { hooksAfterCall } from '../../domain/activity-messages.ts';
import type { RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** True if such hooks are to be called for an outcome. A call without a result of its own, and a cancelled run, have none. */
export function hasHooksAfter(
  { snapshot }: RunState,
  ports: RunPorts,
  { tool }: ToolInvocation,
  outcome: ToolOutcome,
): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.isUnknown || outcome.noWorker !== undefined) return false;
  if (tool.agent !== undefined && outcome.childRunId === undefined) return false;
  return hooksAfterCall(snapshot, tool).length > 0 && !ports.cancelRequested();
}

/** Returns the outcome of a call as these hooks leave it. */
export async function afterCall(
  state: RunState,
  ports: RunPorts,
  invocation: ToolInvocation,
  outcome: ToolResultOutcome,
): Promise<ToolResultOutcome> {
  const { toolCallId } = invocation.call;
  // Meanwhile the activity may query the result.
  state.hookedResults = [...(state.hookedResults ?? []), { callId: toolCallId, content: outcome.content }];
  const hooked = await ports.afterCall(invocation, outcome);
  const left = state.hookedResults.filter(({ callId }) => callId !== toolCallId);
  if (left.length === 0) delete state.hookedResults;
  else state.hookedResults = left;
  return hooked;
}
