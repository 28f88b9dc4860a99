import type { Spent } from './usage.ts';

/** The kinds of guardrails: they check messages to the agent, its answer, or the calls that it makes. */
export const GUARDRAIL_TYPES = ['input', 'output', 'tool_call'] as const;

/** The kind of a guardrail. @useDeclaredType */
export type GuardrailType = (typeof GUARDRAIL_TYPES)[number];

/** A guardrail as it is pinned for a run. */
export interface GuardrailSnapshot {
  /** The name of the guardrail. */
  name: string;
  /** What it checks: `input`, `output` or `tool_call`. */
  type: GuardrailType;
  /** Milliseconds that one check may take. */
  timeoutMs: number;
  /** A check that fails lets pass what it could not check. Absent: it trips. */
  failOpen?: true;
}

/** The guardrail that ended a run, and its message. */
export interface GuardrailTrip {
  /** The guardrail that tripped. */
  name: string;
  /** What it checks: `input`, `output` or `tool_call`. */
  type: GuardrailType;
  /** What it found, in words. */
  message: string;
}

/**
 * A check that did not simply pass. `tripped`: it refused what it checked. `warned`: it found something, and let it pass. `failed`: it threw, gave no valid answer or none in time,
 * and so refused it. `failed_open`: it failed as well, and let it pass.
 */
export interface GuardrailFinding extends GuardrailTrip {
  /** What followed from it. */
  outcome: 'tripped' | 'warned' | 'failed' | 'failed_open';
  /** The call that was checked, for a guardrail of type `tool_call`. */
  callId?: string;
}

/** The cost of the calls of one model that guardrails made. */
export interface GuardrailSpent extends Spent {
  /** `provider/model`. */
  model: string;
  /** The number of model calls. */
  calls: number;
}

/** The report of an activity about the checks that it made. */
export interface GuardrailReport {
  /** Findings in the order of the guardrails. Checks that passed have none. */
  findings: GuardrailFinding[];
  /** What the model calls of the guardrails used. */
  spent?: GuardrailSpent[];
}

/** The part of an event that records checks: the report, and the events that are blocked. */
export interface GuardrailNote extends GuardrailReport {
  /** Offsets of the events that are taken out of the window. They stay in the record. */
  blocked?: number[];
}

export function guardrailsOf(snapshot: { guardrails?: readonly GuardrailSnapshot[] }, type: GuardrailType): GuardrailSnapshot[] {
  return snapshot.guardrails?.filter((guardrail) => guardrail.type === type) ?? [];
}

/** Returns the first finding that refuses what was checked. */
export function refusalIn({ findings }: GuardrailReport): GuardrailFinding | undefined {
  return findings.find(({ outcome }) => outcome === 'tripped' || outcome === 'failed');
}

/** Returns the text that replaces the answer of a blocked run, and that the model reads about a blocked call. */
export function blockedText({ type, message }: Pick<GuardrailTrip, 'type' | 'message'>): string {
  const what = type === 'input' ? 'Request' : type === 'output' ? 'Response' : 'Tool';
  return `${what} blocked: ${message}`;
}
