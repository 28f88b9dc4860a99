// Tool phase: the start of one call.

import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { hooksAfterCall } from '../../domain/activity-messages.ts';
import { afterCall, hasHooksAfter } from '../hooks/after-call.ts';
import { transfer } from '../handoffs/transfer.ts';
import { unknown } from './call-results.ts';

/** Starts a call of a tool. */
export function startTool(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  countStart(state, invocation);
  if (invocation.tool.handoff) return transfer(state, ports, invocation);
  const started = invocation.tool.effect === 'once' ? startOnce(ports, invocation) : ports.runTool(invocation);
  return hooksAfterCall(state.snapshot, invocation.tool).length === 0 ? started : withHooksAfter(state, ports, invocation, started);
}

async function withHooksAfter(
  state: RunState,
  ports: RunPorts,
  invocation: ToolInvocation,
  started: Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const outcome = await started;
  return hasHooksAfter(state, ports, invocation, outcome) ? afterCall(state, ports, invocation, outcome) : outcome;
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
