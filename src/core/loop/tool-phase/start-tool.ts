// Tool phase: the start of one call.

import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { unknown } from './call-results.ts';

/** Starts a call of a tool. */
export function startTool(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  countStart(state, invocation);
  return invocation.tool.effect === 'once' ? startOnce(ports, invocation) : ports.runTool(invocation);
}

/** Counts a call that starts. From here on it counts against the limits, however it ends. */
export function countStart(state: RunState, { call: { name } }: ToolInvocation): void {
  state.toolCallsStarted.set(name, (state.toolCallsStarted.get(name) ?? 0) + 1);
}

/** Starts a call whose effect happens once, and never starts it again: if its answer is lost, the tool's `verify` is called, or its outcome is unknown. */
async function startOnce(ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tool } = invocation;
  const started = await ports.runTool(invocation);
  if (started.type !== 'lost') return started;
  const found = tool.verify && !ports.cancelRequested() ? await ports.verify(invocation, started.reason) : started;
  if (found.type === 'result') return found;
  return found.type === 'cancelled' ? { type: 'cancelled', isUnknown: true } : { ...unknown(tool.name), isUnknown: true };
}
