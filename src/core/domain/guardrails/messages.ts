import type { OfRun } from '../run/activity-messages.ts';
import type { GuardrailReport } from './guardrail.ts';

/** Input of `checkGuardrails`. The messages are read from the conversation, and the answer by query: neither is repeated here. */
export interface CheckGuardrailsInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  type: 'input' | 'output';
  /** The number of events of the record. */
  through: number;
  lastEventId: string;
  /** For input: the offset of the first event that is not checked yet. */
  from?: number;
}

/** Result of `checkGuardrails`. `aborted`: the run was cancelled. */
export interface CheckGuardrailsOutput extends GuardrailReport {
  aborted?: true;
}
