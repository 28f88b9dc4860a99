// Tool phase: the hooks for the result of an agent that a call has run.

import { AFTER_AGENT_EVENTS } from '../../domain/hooks/hook-event.ts';
import { hooksFor } from '../../domain/hooks/hook-snapshot.ts';
import type { RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** True if hooks are to be called for the outcome of an agent. One that was never started, and a cancelled run, have none. */
export function hasHooksAfter({ snapshot }: RunState, ports: RunPorts, outcome: ToolOutcome): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.childRunId === undefined || ports.cancelRequested()) return false;
  return hooksFor(snapshot, ...AFTER_AGENT_EVENTS).length > 0;
}

/** Returns the outcome of the call of an agent as the hooks leave it. */
export async function afterAgent(
  state: RunState,
  ports: RunPorts,
  invocation: ToolInvocation,
  outcome: ToolResultOutcome,
): Promise<ToolResultOutcome> {
  const { toolCallId } = invocation.call;
  // Meanwhile the activity may query the result.
  state.hookedResults = [...(state.hookedResults ?? []), { callId: toolCallId, content: outcome.content }];
  const hooked = await ports.afterAgent(invocation, outcome);
  const left = state.hookedResults.filter(({ callId }) => callId !== toolCallId);
  if (left.length === 0) delete state.hookedResults;
  else state.hookedResults = left;
  return hooked;
}
