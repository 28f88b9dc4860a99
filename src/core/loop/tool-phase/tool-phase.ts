// Tool phase: its steps in order.

import { isToolCall } from '../../domain/content/content.ts';
import { finish, finishChecked, mayRetryOutput } from '../answer.ts';
import { isAskedAbout } from '../approvals/approvals.ts';
import { askAtLimit } from '../limits/ask-at-limit.ts';
import { endCancelled, endFailed, endAtLimit } from '../endings.ts';
import { reserveCalls } from '../limits/limits.ts';
import type { NextStep, ToolsPosition } from '../next-step.ts';
import { endedByNoWorker } from './no-worker.ts';
import type { RunPorts } from '../ports.ts';
import { overLimit } from './call-results.ts';
import { type Acting, finalOutput, isFinalAnswer, prepareCall, type PreparedCall, problemOf } from './prepare-call.ts';
import { recordResults, recordToolStep } from './record-results.ts';
import type { RunState } from '../state/run-state.ts';
import { settleDecisions } from '../approvals/settle-decisions.ts';
import { ToolScheduler } from './tool-scheduler.ts';

/**
 * Reserves room for the calls within the limits, prepares them in order, executes them, and records the
 * results in the order of the model, and the step. If the history is full in the middle of it, the run goes on in the
 * next execution with the calls that have no outcome yet.
 */
export async function runToolPhase(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<NextStep> {
  state.phase = 'tools';
  const acting = actingOn(state, position);
  const { response, outcomes: before, final } = position;
  const names = final ? [] : namesToStart(acting, position);
  let reservation = reserveCalls(state, names);
  // If a person is asked at limits, no call starts before there is room for all of them, or the person has refused.
  if (reservation.reached !== undefined && state.limits.onLimit === 'ask' && !position.limitRefused) {
    const next = await askAtLimit(state, ports, position, () => (reservation = reserveCalls(state, names)).reached);
    // After a refusal the calls that fit are executed, and then the limit ends the run.
    if (next !== undefined) return next.type === 'finish' ? { ...position, limitRefused: true } : next;
  }
  const { refused } = reservation;
  const isOverLimit = refused.size > 0 || position.overLimit === true;
  const prepared = prepare(acting, refused);
  const batch = { response, prepared, outcomes: prepared.map((_, index) => before[index] ?? null) };
  const outcomes = await new ToolScheduler(acting, ports, batch).execute();
  if (outcomes.includes(null)) {
    return { type: 'continue', position: { ...position, outcomes, ...(isOverLimit ? { overLimit: true as const } : {}) } };
  }
  // Decisions that came too late are refused, and their senders are told.
  if (ports.inbox.decisions.length > 0) await settleDecisions(state, ports);
  recordResults(acting, ports, outcomes);
  recordToolStep(acting, outcomes);
  state.approvals.approved = [];

  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return endCancelled(state);
  const ended = endedByNoWorker(state, ports, outcomes);
  if (ended !== undefined) return ended;
  return afterTools(acting, ports, isOverLimit);
}

function actingOn(state: RunState, { response, final }: ToolsPosition): Acting {
  const offset = state.window.events.findLast(({ id }) => id === response.id)?.offset ?? state.window.through - 1;
  return { state, response, calls: response.content.filter(isToolCall), offset, final };
}

/** Prepares the calls; one that the limits refuse has its result already. */
function prepare(acting: Acting, refused: ReadonlySet<number>): PreparedCall[] {
  return acting.calls.map((call, index) => (refused.has(index) ? { type: 'immediate', outcome: overLimit() } : prepareCall(acting, call)));
}

/** Returns the name of each call that would start, by index. A call about whose outcome a person is asked has started already. */
function namesToStart({ state, response, calls }: Acting, { outcomes }: ToolsPosition): (string | undefined)[] {
  const { tools } = state.snapshot;
  const { pending } = state.approvals;
  return calls.map((call, index) => {
    const starts =
      (outcomes[index] ?? null) === null &&
      !isAskedAbout(pending, call.toolCallId) &&
      problemOf(response, call) === undefined &&
      !isFinalAnswer(state, call) &&
      tools.some((tool) => tool.name === call.name && !tool.notExecutable);
    return starts ? call.name : undefined;
  });
}

function afterTools({ state, response, calls, final }: Acting, ports: RunPorts, isOverLimit: boolean): NextStep {
  if (final) return endAtLimit(state);
  if (response.verdict !== undefined) return finishChecked(state, ports, response, final);
  const answers = calls.filter((call) => isFinalAnswer(state, call));
  const valid = answers.find((call) => problemOf(response, call) === undefined);
  if (valid !== undefined) return finish(state, ports, { output: finalOutput(response, valid), final: false });
  if (isOverLimit) return endAtLimit(state, 'tool_call_limit');
  if (answers.length === 0 || mayRetryOutput(state)) return { type: 'call_model', final: false };
  const problem = answers.map((call) => problemOf(response, call)).join('; ');
  return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
}
