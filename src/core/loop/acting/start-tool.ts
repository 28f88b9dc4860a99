import { RUNNING_CALL, unknownOutcome } from '../../domain/content/tool-text.ts';
import { endsByDeadline } from '../limits/limits.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import { interrupted, type PreparedCall, result } from './prepare-call.ts';
import type { RunState } from '../state/run-state.ts';

/** What a call is answered with that must not start any more: the run is cancelled or over its time, or a message says where to go instead. */
export function resultIfStopped(state: RunState, ports: RunPorts, { type }: PreparedCall): ToolOutcome | undefined {
  if (ports.cancelRequested()) return interrupted();
  if (type !== 'execute') return undefined;
  // Runs that began before their deadline stopped calls go on as they began.
  const isToStop = ports.inbox.isSteered || (endsByDeadline(state, ports.now()) && ports.allows('deadline-among-calls'));
  return isToStop ? interrupted() : undefined;
}

/** Starts a call. From here on it counts, whatever comes of it. */
export function startTool(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { name } = invocation.call;
  state.toolCallsStarted.set(name, (state.toolCallsStarted.get(name) ?? 0) + 1);
  return invocation.tool.effect === 'once' ? startOnce(ports, invocation) : ports.runTool(invocation);
}

/** What happens once is never started again: where its answer is lost, the tool is asked what became of it, or nobody knows. */
async function startOnce(ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tool } = invocation;
  const started = await ports.runTool(invocation);
  if (started.type !== 'lost') return started;
  const found = tool.verify && !ports.cancelRequested() ? await ports.verify(invocation, started.reason) : started;
  if (found.type === 'result') return found;
  return found.type === 'cancelled' ? { type: 'cancelled', isUnknown: true } : { ...unknown(tool.name), isUnknown: true };
}

/** The result of a call that was running when the run was cancelled. */
export function running(): ToolOutcome & { type: 'result' } {
  return { ...result('error', RUNNING_CALL), durationMs: null };
}

/** The result of a call of which nobody knows whether it took effect. */
export function unknown(toolName: string, reason?: string): ToolOutcome & { type: 'result' } {
  const text = unknownOutcome(toolName);
  return { ...result('error', reason === undefined ? text : `${text} ${reason}`), durationMs: null };
}
