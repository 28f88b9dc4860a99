import type { Spent } from './usage.ts';

/** The kinds of guardrails: they check messages to the agent, its answer, or its tool calls. */
export const GUARDRAIL_TYPES = ['input', 'output', 'tool_call'] as const;

/** The kind of a guardrail. @useDeclaredType */
export type GuardrailType = (typeof GUARDRAIL_TYPES)[number];

/** A guardrail as pinned for a run. */
export interface GuardrailSnapshot {
  /** The name of the guardrail. */
  name: string;
  /** The kind of content that it checks: `input`, `output` or `tool_call`. */
  type: GuardrailType;
  /** The maximum milliseconds of one check. */
  timeoutMs: number;
  /** If the check fails, its subject passes. Absent: the guardrail trips. */
  failOpen?: true;
}

/** The guardrail that ended a run, and its message. */
export interface GuardrailTrip {
  /** The guardrail that tripped. */
  name: string;
  /** The kind of content that it checks: `input`, `output` or `tool_call`. */
  type: GuardrailType;
  /** Its finding, in words. */
  message: string;
}

/**
 * A check with a result other than a plain pass. `tripped`: it refused its subject. `warned`: it found something, but let it pass.
 * `failed`: it threw or gave no valid answer in time, and so refused its subject. `failed_open`: it failed, but let its subject pass.
 */
export interface GuardrailFinding extends GuardrailTrip {
  /** Whether the subject was refused or passed, as described above. */
  outcome: 'tripped' | 'warned' | 'failed' | 'failed_open';
  /** The checked call, for a guardrail of type `tool_call`. */
  callId?: string;
}

/** The cost of the calls of one model by guardrails. */
export interface GuardrailSpent extends Spent {
  /** `provider/model`. */
  model: string;
  /** The number of model calls. */
  calls: number;
}

/** An activity's report about the checks that it ran. */
export interface GuardrailReport {
  /** Findings in the order of the guardrails. Passed checks have none. */
  findings: GuardrailFinding[];
  /** The usage of the guardrails' model calls. */
  spent?: GuardrailSpent[];
}

/** The part of an event that records checks: the report, and the events that are blocked. */
export interface GuardrailNote extends GuardrailReport {
  /** Offsets of the events that are removed from the window. They stay in the record. */
  blocked?: number[];
}

export function guardrailsOf(snapshot: { guardrails?: readonly GuardrailSnapshot[] }, type: GuardrailType): GuardrailSnapshot[] {
  return snapshot.guardrails?.filter((guardrail) => guardrail.type === type) ?? [];
}

/** Returns the first finding that refuses its subject. */
export function refusalIn({ findings }: GuardrailReport): GuardrailFinding | undefined {
  return findings.find(({ outcome }) => outcome === 'tripped' || outcome === 'failed');
}

/** Returns the text that replaces a blocked run's answer, and that the model reads about a blocked call. */
export function blockedText({ type, message }: Pick<GuardrailTrip, 'type' | 'message'>): string {
  const what = type === 'input' ? 'Request' : type === 'output' ? 'Response' : 'Tool';
  return `${what} blocked: ${message}`;
}
