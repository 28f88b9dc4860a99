// Model phase: the start of agents side by side, in place of a model call.

import type { ToolCall } from '../../domain/content/content.ts';
import { branchesId } from '../../domain/flows/branches-id.ts';
import { endFailed } from '../endings/endings.ts';
import type { NextStep } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import { recordEvent, type RunState } from '../state/run-state.ts';
import { branchInput } from './branch-input.ts';

/** Calls every agent of the flow in one step, as a model would. All of them get the input of the run, so the calls do not repeat it. */
export function startBranches(state: RunState, ports: RunPorts): NextStep {
  const { name, tools } = state.snapshot;
  if (branchInput(state) === undefined) {
    const problem = 'its agents act side by side, each in a conversation of its own: start it with "input" alone, without "messages"';
    return endFailed(state, 'invalid_input', `Flow "${name}" cannot start: ${problem}`);
  }
  const id = branchesId(state.runId);
  const content = tools.map(({ name: tool }, index): ToolCall => {
    return { type: 'tool_call', toolCallId: `branch-${index + 1}`, name: tool, arguments: {} };
  });
  recordEvent(state, ports, { id, author: name, content });
  return { type: 'run_tools', response: { id, content, finishReason: 'tool_calls', usage: null }, final: false, outcomes: [] };
}
