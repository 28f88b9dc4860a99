import { defined } from '../domain/defined.ts';
import {
  blockedText,
  type GuardrailNote,
  type GuardrailReport,
  guardrailsOf,
  type GuardrailSpent,
  refusalIn,
} from '../domain/guardrails.ts';
import { addEstimated, addReported, priced } from '../domain/usage.ts';
import type { Ending, NextStep } from './next-step.ts';
import type { GuardrailOutcome } from './ports.ts';
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
export function reportOf({ snapshot }: RunState, type: 'input' | 'output', outcome: GuardrailOutcome): GuardrailReport {
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
export function endByGuardrail(outcome: GuardrailOutcome, report: GuardrailReport): Extract<NextStep, { type: 'finish' }> | undefined {
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

// Shared state: the messages that guardrails have not checked.

/** Notes that the messages from that offset on must be checked, if the agent has guardrails for input. */
export function noteUnchecked(state: RunState, offset: number): void {
  if (guardrailsOf(state.snapshot, 'input').length > 0) state.uncheckedFrom ??= offset;
}
