// Shared state: room in the history, before a model call and before a tool call.

import { jsonBytes } from '../../domain/byte-budgets.ts';
import type { NextStep, Position } from '../next-step.ts';
import type { Growth, Leaving, RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { ToolBatch } from '../tool-phase/tool-batch.ts';
import { withoutRecorded } from '../tool-phase/results-in-window.ts';
import { CARRIED_JOURNAL_BYTES, forgetLargeJournal } from '../code/cells.ts';
import type { RunState } from '../state/run-state.ts';
import { fitsContinueAsNew } from '../compaction/window-limit.ts';

/** An activity alone: three events of its own and three of the workflow task, and what stands in them beside its content. */
const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** Bytes that a response (without its content, which is in the window) and the results of its calls may take when a run continues in the middle of it. */
const CARRIED_TOOLS_BYTES = 100_000;

/** Continues as new before a model call if the history of this execution is full and the state is small enough to be carried. */
export function continueBeforeModelCall(state: RunState, ports: RunPorts, position: Position): NextStep | undefined {
  if (!ports.continueDue(ACTIVITY)) return undefined;
  forgetLargeJournal(state);
  return fitsContinueAsNew(state) ? { type: 'continue', position } : undefined;
}

/**
 * True if a tool call is left to the next execution: the history of this one is full, and the results of earlier calls are
 * small enough to be carried. A response may have made the window too large: it is compacted once the calls have results.
 */
export function continueBeforeTool(
  state: RunState,
  ports: RunPorts,
  batch: Pick<ToolBatch, 'response' | 'outcomes' | 'earlier'>,
  leaving?: Leaving,
): boolean {
  // A cancellation is not carried on: the run ends here.
  if (ports.cancelRequested() || !ports.continueDue(ACTIVITY, leaving)) return false;
  // A large journal is forgotten between two steps, and never in the middle of a cell.
  if (state.code !== undefined && state.code.journalBytes > CARRIED_JOURNAL_BYTES) return false;
  const { response, outcomes, earlier = [] } = batch;
  let bytes = jsonBytes({ ...response, content: [], providerItems: [] });
  for (const outcome of [...earlier, ...outcomes]) {
    if (bytes > CARRIED_TOOLS_BYTES) return false;
    bytes += jsonBytes(outcome?.type === 'result' && outcome.recordedAt !== undefined ? withoutRecorded(outcome) : outcome);
  }
  return bytes <= CARRIED_TOOLS_BYTES && fitsContinueAsNew(state, bytes);
}

/** True if results that are not in the record yet are so large that they should get there before others have ended: a carried state has little room for them. */
export function hasMuchToRecord(outcomes: readonly (ToolOutcome | null)[]): boolean {
  let bytes = 0;
  for (const outcome of outcomes) if (outcome !== null && outcome.recordedAt === undefined) bytes += jsonBytes(outcome);
  return bytes > CARRIED_TOOLS_BYTES / 2;
}

/** Bytes that a call brings into history and into memory at most, while it runs. */
export function bytesInFlight({ call, tool }: ToolInvocation): number {
  return ACTIVITY.bytes + jsonBytes(call.arguments) + (tool.maxResultBytes ?? 0);
}
