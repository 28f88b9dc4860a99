// Tool phase: calls that code makes.

import { INTERRUPTED_CALL, resultText } from '../../domain/content/tool-text.ts';
import type { CodeCallResult } from '../../execution/executor.ts';
import type { CellPosition, NextStep } from '../next-step.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { interrupted, result } from '../tool-phase/call-results.ts';
import { noWorker } from '../tool-phase/no-worker.ts';
import type { Acting } from '../tool-phase/prepare-call.ts';
import { recordResults, recordsOf, resultOf } from '../tool-phase/record-results.ts';
import { countToolCall } from '../state/run-state.ts';
import { afterCell } from './cell-phase.ts';
import { addResults, codeOf, dropCell } from './cells.ts';
import { countCalls } from './local-work.ts';

/** The result of a cell whose run was told to do something else. */
const STEERED = 'The code was ended before its end, because a message to the run arrived.';

/** Records the results of calls that code made, and goes on with its cell; or ends the cell, if the run must not go on with it. */
export function afterCallsOfCode(acting: Acting, ports: RunPorts, cell: CellPosition, outcomes: (ToolOutcome | null)[]): NextStep {
  const { state, calls } = acting;
  recordResults(acting, ports, outcomes);
  const code = codeOf(state);
  for (const record of recordsOf(acting, outcomes)) {
    countToolCall(state, record);
    code.records.push({ ...record, caller: 'code' });
  }
  const isLocal = (name: string): boolean => state.snapshot.tools.some((tool) => tool.name === name && tool.tier === 'local');
  countCalls(
    state,
    calls.every(({ name }) => isLocal(name)),
    outcomes,
  );
  const { approvals } = state;
  approvals.approved = approvals.approved.filter(({ callId }) => !calls.some(({ toolCallId }) => toolCallId === callId));
  const ended = instead(ports, outcomes);
  if (ended !== undefined) {
    dropCell(state);
    delete code.calls;
    return afterCell(cell, ended);
  }
  addResults(
    state,
    calls.map((call, index) => resultForCode(resultOf(call, outcomes[index] ?? interrupted()))),
  );
  return cell;
}

/** Returns the value or the error of a call for the code: the only item of its content, or the list if there are several. */
function resultForCode({ status, content }: Pick<ToolOutcome & { type: 'result' }, 'status' | 'content'>): CodeCallResult {
  if (status === 'error') return { error: resultText(content) };
  const [value = null, ...more] = content;
  return { value: more.length === 0 ? value : content };
}

/** Returns the outcome of a cell that must not go on: its run is cancelled, a message steers it, or no worker could make a call. */
function instead(ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): ToolOutcome | undefined {
  const missing = noWorker(ports, outcomes);
  if (missing !== undefined) return { ...result('error', INTERRUPTED_CALL), durationMs: null, noWorker: missing };
  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return { type: 'cancelled' };
  return ports.inbox.isSteered ? { ...result('error', STEERED), durationMs: null } : undefined;
}
