import { setState } from '../domain/execution-context.ts';
import { stateProblem } from '../domain/state-problem.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import { interrupted, type PreparedCall } from './prepare-call.ts';
import type { RunState } from './run-state.ts';

/** What a call is answered with that must not start any more: the run is cancelled, or a message says where to go instead. */
export function givenUp(ports: RunPorts, { type }: PreparedCall): ToolOutcome | undefined {
  if (ports.cancelRequested()) return { type: 'cancelled' };
  return type === 'execute' && ports.inbox.isSteered ? interrupted() : undefined;
}

/** Starts a call. From here on it counts, whatever comes of it. */
export function startTool(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { name } = invocation.call;
  state.toolCallsStarted.set(name, (state.toolCallsStarted.get(name) ?? 0) + 1);
  return ports.runTool(invocation);
}

/**
 * Applies what a call changes of the state, once: it is not part of the outcome any more. Calls that overlap may each keep within its budget and break it together:
 * the one that breaks it becomes an error result, and changes nothing.
 */
export function withState(state: RunState, prepared: PreparedCall, outcome: ToolOutcome): ToolOutcome {
  if (outcome.type !== 'result' || outcome.state === undefined || prepared.type !== 'execute') return outcome;
  const { state: changes, ...applied } = outcome;
  const problem = stateProblem(state.context.state, changes);
  if (problem !== undefined) {
    const { name } = prepared.invocation.call;
    return { type: 'result', status: 'error', content: [`Tool '${name}' keeps too much. ${problem}`], durationMs: outcome.durationMs };
  }
  for (const [key, value] of Object.entries(changes)) setState(state.context, key, value);
  return applied;
}
