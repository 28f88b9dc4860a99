// Tool phase: the calls of one response.

import type { RecordedResponse } from '../../domain/model.ts';
import type { ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { isOverLimit } from './call-results.ts';
import type { PreparedCall } from './prepare-call.ts';

/** The calls of one response, and their outcomes so far by index; null for a call that has none yet. */
export interface ToolBatch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: (ToolOutcome | null)[];
  /** The outcomes of calls of the response that have run before these. */
  earlier?: readonly (ToolOutcome | null)[];
}

/**
 * True for calls that must not overlap. One call alone is a sequence. A call that the limits refused in the execution before
 * counts as little as it did there.
 */
export function runsInSequence({ snapshot }: RunState, { prepared, outcomes }: ToolBatch): boolean {
  if (prepared.length === 1 || !snapshot.parallel) return true;
  return prepared.some((one, index) => one.type === 'execute' && !one.invocation.tool.parallel && !isOverLimit(outcomes[index]));
}

/** True if a call needs a decision, or if a person may have to be asked about the outcome of one. */
export function needsDecisions({ snapshot }: RunState, { prepared }: ToolBatch): boolean {
  return prepared.some((one) => {
    if (one.type !== 'execute') return false;
    return one.requirement !== undefined || (snapshot.onUnknownOutcome === 'ask' && one.invocation.tool.effect === 'once');
  });
}
