// Tool phase: the calls of one response.

import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import type { ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import type { PreparedCall } from './prepare-call.ts';

/** The calls of one response, and their outcomes so far by index; null for a call that has none yet. */
export interface ToolBatch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: (ToolOutcome | null)[];
}

/** True for calls that must not overlap. One call alone is a sequence. */
export function runsInSequence({ snapshot }: RunState, { prepared }: ToolBatch): boolean {
  return prepared.length === 1 || !snapshot.parallel || prepared.some((one) => one.type === 'execute' && !one.invocation.tool.parallel);
}

/** True if a call needs a decision, or if a person may have to be asked about the outcome of one. */
export function needsDecisions({ snapshot }: RunState, { prepared }: ToolBatch): boolean {
  return prepared.some((one) => {
    if (one.type !== 'execute') return false;
    return one.requirement !== undefined || (snapshot.onUnknownOutcome === 'ask' && one.invocation.tool.effect === 'once');
  });
}
