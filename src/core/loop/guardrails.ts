import { defined } from '../domain/defined.ts';
import {
  blockedText,
  type GuardrailNote,
  type GuardrailReport,
  guardrailsOf,
  type GuardrailSpent,
  refusalIn,
} from '../domain/guardrails.ts';
import type { JsonValue } from '../domain/json.ts';
import { addEstimated, addReported, priced } from '../domain/usage.ts';
import { endCancelled, type Ending, type NextStep } from './next-step.ts';
import type { GuardrailOutcome, ModelCallOutcome, RunPorts } from './ports.ts';
import { recordFailedCall, recordInterrupted } from './spending.ts';
import { recordEvent, type RunClock, type RunState } from './state/run-state.ts';

// Shared state: the record of checks, and their cost.

/** Adds the cost of checks to the usage of the run, and returns the report with its price. */
export function spendOnGuardrails(state: RunState, { findings, spent }: GuardrailReport): GuardrailReport {
  if (spent === undefined) return { findings };
  return { findings, spent: spent.map((one) => spendOnModel(state, one)) };
}

function spendOnModel(state: RunState, { model, calls, reported, estimated }: GuardrailSpent): GuardrailSpent {
  const cost = {
    ...(reported === undefined ? {} : { reported: priced(state.snapshot.prices, model, reported) }),
    ...(estimated === undefined ? {} : { estimated: priced(state.snapshot.prices, model, estimated) }),
  };
  const usage = addEstimated(addReported(state.usage, cost.reported ?? null), cost.estimated);
  state.usage = { ...usage, llmCalls: usage.llmCalls + calls };
  return { model, calls, ...cost };
}

/** Records checks in a separate event, unless they have found nothing and cost nothing. */
export function recordReport(state: RunState, clock: RunClock, report: GuardrailNote | undefined): void {
  if (report === undefined || (report.findings.length === 0 && report.spent === undefined)) return;
  const { blocked } = report;
  const guardrails = { ...spendOnGuardrails(state, report), ...defined({ blocked }) };
  recordEvent(state, clock, { author: state.snapshot.name, content: [], guardrails });
}

/** Returns the report of checks, also if their activity failed: then each guardrail has failed. */
function reportOf({ snapshot }: RunState, type: 'input' | 'output', outcome: GuardrailOutcome): GuardrailReport {
  if (outcome.type !== 'failed') return outcome.report ?? { findings: [] };
  const findings = guardrailsOf(snapshot, type).map(({ name, failOpen }) => ({
    name,
    type,
    outcome: failOpen ? ('failed_open' as const) : ('failed' as const),
    message: outcome.message,
  }));
  return { findings };
}

/** Returns the end of the run if the checks refuse to continue. A guardrail that no worker has ends it in any case. */
function endByGuardrail(outcome: GuardrailOutcome, report: GuardrailReport): Extract<NextStep, { type: 'finish' }> | undefined {
  const refusal = refusalIn(report);
  if (outcome.type === 'failed' && outcome.code === 'unknown_guardrail') {
    const ending: Ending = { status: 'error', stopReason: 'error', output: '', error: outcome };
    return { type: 'finish', ending };
  }
  if (refusal === undefined) return undefined;
  const { name, type, message } = refusal;
  const ending: Ending = {
    status: 'error',
    stopReason: 'guardrail',
    output: blockedText(refusal),
    error: { code: 'guardrail_tripped', message },
    guardrail: { name, type, message },
  };
  return { type: 'finish', ending };
}

// Model phase: the check of messages that the model has not read.

/**
 * Begins the check of messages that no check has read, in parallel with the model call that reads them: if it trips, the call is given up.
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
type InputCheck = { ended: NextStep } | { report: GuardrailReport };

/**
 * Waits for the check that runs in parallel with the model call. If the messages do not pass, the call counts as given up: its answer is no
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
  recordReport(state, ports, { ...report, ...defined({ blocked }) });
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

// Closing: the check of an answer before it counts.

/** Checks an answer by one activity, which reads it by query. Returns the end of the run if it does not pass. */
export async function checkAnswer(state: RunState, ports: RunPorts, answer: JsonValue): Promise<NextStep | undefined> {
  const { through, lastEventId } = state.window;
  state.pendingAnswer = answer;
  const outcome = await ports.checkGuardrails({ type: 'output', through, lastEventId });
  delete state.pendingAnswer;
  const report = reportOf(state, 'output', outcome);
  const ended = outcome.type === 'cancelled' ? endCancelled(state) : endByGuardrail(outcome, report);
  const blocked = ended === undefined || outcome.type === 'cancelled' ? undefined : answerOffsets(state);
  recordReport(state, ports, { ...report, ...defined({ blocked }) });
  return ended;
}

/** Returns the offsets of the response with the answer, and of the results of its calls, which make no sense without it. */
function answerOffsets({ window }: RunState): number[] {
  const { events } = window;
  const index = events.findLastIndex(({ content }) =>
    content.some((item) => item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant')),
  );
  return index < 0 ? [] : events.slice(index).map(({ offset }) => offset);
}
