// Closing: an answer that counts.

import { endTurn } from '../flows/turns.ts';
import { takeMessages } from '../requests/messages.ts';
import type { Answered, NextStep } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/**
 * Ends the run with an answer. After the step limit, the status still says that the limit ended it. Messages that the run accepted
 * before the answer arrived are answered first, so that no accepted message stays without an answer. `checked`: guardrails have
 * passed it.
 */
export function accept(state: RunState, ports: RunPorts, { final, ...answered }: Answered, checked = false): NextStep {
  const shown = checked ? { ...answered, checked: true as const } : answered;
  if (final) return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason: 'step_limit', ...shown } };
  if (takeMessages(state, ports) || endTurn(state, answered.output)) return { type: 'call_model', final: false };
  state.context.finalResult = answered.output;
  return { type: 'finish', ending: { status: 'completed', stopReason: 'final_answer', ...shown } };
}
