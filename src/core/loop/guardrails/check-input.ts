// Model phase: the check of messages that the model has not read.

import type { GuardrailReport } from '../../domain/guardrails/guardrail.ts';
import { endCancelled } from '../endings/endings.ts';
import type { NextStep } from '../next-step.ts';
import type { GuardrailOutcome, ModelCallOutcome, RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { recordFailedCall, recordInterrupted } from '../state/spending.ts';
import { endByGuardrail, recordReport, reportOf } from './guardrail-note.ts';

/**
 * Begins the check of messages that no check has read, beside the model call that reads them: if it trips, the call is given up.
 * Undefined if there are none.
 */
export function beginInputCheck(state: RunState, ports: RunPorts): Promise<GuardrailOutcome> | undefined {
  const { uncheckedFrom: from, window } = state;
  if (from === undefined) return undefined;
  const { through, lastEventId } = window;
  return ports.checkGuardrails({ type: 'input', from, through, lastEventId }).then((outcome) => {
    if (endByGuardrail(outcome, reportOf(state, 'input', outcome)) !== undefined) ports.abortModelCall();
    return outcome;
  });
}

/** The check of messages that has ended: with the end of the run, or with a report to record after the model's answer. */
export type InputCheck = { ended: NextStep } | { report: GuardrailReport };

/**
 * Waits for the check that runs beside the model call. If the messages do not pass, the call counts as given up: its answer is no
 * step, and no tool of it starts.
 */
export async function endInputCheck(
  state: RunState,
  ports: RunPorts,
  checking: Promise<GuardrailOutcome>,
  answered?: ModelCallOutcome,
): Promise<InputCheck> {
  const outcome = await checking;
  const report = reportOf(state, 'input', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  const from = state.uncheckedFrom ?? state.window.through;
  delete state.uncheckedFrom;
  if (ended === undefined) return { report };
  if (answered !== undefined) recordUnread(state, ports, answered);
  const blocked = outcome.type === 'cancelled' ? undefined : offsetsFrom(state, from);
  recordReport(state, ports, { ...report, ...(blocked === undefined ? {} : { blocked }) });
  return { ended };
}

/** Checks messages before anything else reads them: a compaction would take them out of the window, or send them to a model. */
export async function checkInputFirst(state: RunState, ports: RunPorts): Promise<NextStep | undefined> {
  const checking = beginInputCheck(state, ports);
  if (checking === undefined) return undefined;
  const checked = await endInputCheck(state, ports, checking);
  if ('ended' in checked) return checked.ended;
  recordReport(state, ports, checked.report);
  return undefined;
}

/** Records what arrived of a model call whose messages did not pass, and its cost. */
function recordUnread(state: RunState, ports: RunPorts, outcome: ModelCallOutcome): void {
  const { model } = state.snapshot;
  if (outcome.type === 'failed') recordFailedCall(state, ports, model, outcome);
  else if (outcome.type === 'response') recordInterrupted(state, ports, model, outcome.response);
  else if (outcome.partial) recordInterrupted(state, ports, model, outcome.partial);
}

/** Returns the offsets of the messages that did not pass, and of everything after them. */
function offsetsFrom({ window }: RunState, from: number): number[] {
  return window.events.filter(({ offset }) => offset >= from).map(({ offset }) => offset);
}
