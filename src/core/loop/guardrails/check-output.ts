// Closing: the check of an answer before it counts.

import { accept } from '../answer.ts';
import { endCancelled } from '../endings/endings.ts';
import type { Answered, NextStep } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { endByGuardrail, recordReport, reportOf } from './guardrail-note.ts';

/** Checks an answer by one activity, which reads it by query, and accepts it if it passes. */
export async function checkOutput(state: RunState, ports: RunPorts, answered: Answered): Promise<NextStep> {
  const { through, lastEventId } = state.window;
  state.pendingAnswer = answered.output;
  const outcome = await ports.checkGuardrails({ type: 'output', through, lastEventId });
  delete state.pendingAnswer;
  const report = reportOf(state, 'output', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  recordReport(state, ports, {
    ...report,
    ...(ended === undefined || outcome.type === 'cancelled' ? {} : { blocked: answerOffsets(state) }),
  });
  return ended ?? accept(state, ports, answered, true);
}

/** Returns the offsets of the response with the answer, and of the results of its calls, which make no sense without it. */
function answerOffsets({ window }: RunState): number[] {
  const { events } = window;
  const index = events.findLastIndex(({ content }) =>
    content.some((item) => item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant')),
  );
  return index < 0 ? [] : events.slice(index).map(({ offset }) => offset);
}
