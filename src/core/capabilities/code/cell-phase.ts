import { isToolCall } from '../../domain/content.ts';
import { defined } from '../../domain/defined.ts';
import { stateProblem } from '../../domain/deps.ts';
import { cellCode, type CodeCallResult, type JournalCell } from '../../domain/execution.ts';
import { setState } from '../../domain/record.ts';
import { INTERRUPTED_CALL, resultText, RUN_CODE } from '../../domain/tool-calls.ts';
import type { Capability } from '../../kernel/capability.ts';
import { continueBeforeTool } from '../../kernel/continue-as-new.ts';
import { problemOf } from '../../kernel/gate.ts';
import type { NextStep, PhasePosition, ToolBatchContext, ToolsPosition } from '../../kernel/next-step.ts';
import { points } from '../../kernel/points.ts';
import { callResult, interruptedResult, noWorker, type RunPorts, type ToolOutcome } from '../../kernel/ports.ts';
import { countToolCall, recordEvent, type RunState } from '../../kernel/run-state.ts';
import { findEvent, recordResults, recordsOf, resultOf } from '../../kernel/tool-calls.ts';
import {
  addResults,
  addSegment,
  beginCell,
  beginJournal,
  callsOf,
  codeOf,
  type CodePorts,
  countCalls,
  countSegment,
  currentCell,
  dropCell,
  endsTask,
  lastDigest,
  namespace,
  type SegmentCall,
  type SegmentOutcome,
  withOneFinalAnswer,
} from './code-cells.ts';

// Tool phase: one segment of a cell.

/**
 * Runs the next segment of a cell. Calls that its code makes are recorded and left to the tool phase, which comes back with their
 * results. If the history is full, the run continues with the segment in the next execution.
 */
async function runCellPhase(state: RunState, ports: CodePorts, position: PhasePosition): Promise<NextStep> {
  const { tools, index } = position;
  if (ports.cancelRequested()) return afterCell(position, interruptedResult());
  if (continueBeforeTool(state, ports, tools)) return { type: 'continue', position };
  if (position.spentMs === undefined) beginCell(state, cellAt(ports, tools, index));
  const call = segmentCall(state, position);
  const outcome = await ports.runSegment(call);
  countSegment(state, state.snapshot.code?.tier === 'local' && call.remote !== true, outcome);
  if (outcome.type !== 'calls') return afterCell(position, withOneFinalAnswer(state, ports, tools.outcomes, endOfCell(state, outcome)));
  addSegment(
    state,
    outcome.digest,
    outcome.calls.map(({ name }) => name),
  );
  const { id, calls: content, problems, approvals, rewrites, hooks, guardrails, durationMs } = outcome;
  const author = state.snapshot.name;
  codeOf(state).calls = { offset: state.window.through, id, author, content };
  recordEvent(state, ports, { id, author, content, caller: 'code', ...points.madeParts(state, { content, ...defined({ guardrails }) }) });
  return {
    type: 'run_tools',
    response: {
      id,
      content,
      finishReason: 'tool_calls',
      usage: null,
      ...defined({ problems, approvals, rewrites, hooks }),
      ...(guardrails === undefined ? {} : { guardrails: { findings: guardrails.findings } }),
    },
    final: false,
    outcomes: [],
    within: { ...position, spentMs: (position.spentMs ?? 0) + durationMs },
  };
}

/** Bytes of JSON of the journal from which on a checkpoint is wanted, so that it can be carried when the run continues as new. */
const CHECKPOINT_BYTES = 100_000;

/** Returns the next step after a cell with that outcome: the calls of its response continue. */
function afterCell({ tools, index }: PhasePosition, outcome: ToolOutcome): ToolsPosition {
  return { ...tools, outcomes: tools.outcomes.with(index, outcome) };
}

function cellAt(ports: RunPorts, { response }: ToolsPosition, index: number): JournalCell {
  const call = response.content.filter(isToolCall)[index];
  const moment = { now: response.receivedAt ?? ports.now(), seed: seedOf(`${response.id}/${index}`) };
  return { code: call === undefined ? '' : (cellCode(response.content, call) ?? ''), moment, segments: [] };
}

function segmentCall(state: RunState, { tools: { response }, index, spentMs = 0 }: PhasePosition): SegmentCall {
  const call = response.content.filter(isToolCall)[index];
  if (call === undefined) throw new TypeError(`Response "${response.id}" has no call ${index}`);
  const { code, moment, segments } = currentCell(state);
  const results = segments.at(-1)?.results;
  const after = lastDigest(codeOf(state).journal);
  return {
    step: state.context.currentStep + 1,
    call,
    offset: findEvent(state, response.id)?.offset ?? state.window.through - 1,
    index: response.content.indexOf(call),
    eventId: response.id,
    code,
    moment,
    cell: codeOf(state).journal.cells.length - 1,
    segment: segments.length,
    ...defined({ after }),
    calls: callsOf(currentCell(state)),
    spentMs,
    ...(codeOf(state).journalBytes > CHECKPOINT_BYTES ? { checkpoint: true as const } : {}),
    ...(endsTask(state) ? { remote: true as const } : {}),
    ...defined({ results }),
  };
}

/** Applies the end of a cell to the namespace and the state of the run, and returns the result that the model reads. */
function endOfCell(state: RunState, outcome: Exclude<SegmentOutcome, { type: 'calls' }>): ToolOutcome {
  const code = codeOf(state);
  delete code.calls;
  if (outcome.type !== 'ended') {
    dropCell(state);
    if (outcome.type === 'cancelled') return { type: 'cancelled' };
    const { message, noWorker: missing } = outcome;
    return {
      ...callResult('error', `The code could not be run: ${message}`),
      durationMs: null,
      ...defined({ noWorker: missing }),
    };
  }
  if (outcome.digest === undefined) dropCell(state);
  else addSegment(state, outcome.digest);
  if (outcome.isLost) beginJournal(state);
  if (outcome.checkpoint !== undefined) beginJournal(state, { checkpoint: outcome.checkpoint });
  return toResult(state, outcome);
}

/** The text that the model reads before the first result after cells whose names and values were lost, by the reason. */
const LOST = {
  too_large: 'The names and values of earlier cells are lost, because together they were too large to be kept. Define them again.',
  agent_changed: 'The names and values of earlier cells are lost, because the way in which code runs has changed. Define them again.',
} as const;

function toResult(
  state: RunState,
  { id, content, isError, final, state: changes, durationMs }: SegmentOutcome & { type: 'ended' },
): ToolOutcome {
  const { journal } = codeOf(state);
  const problem = changes && stateProblem(state.context.state, changes);
  if (problem !== undefined) return { ...callResult('error', ...content, problem), durationMs };
  for (const [key, value] of Object.entries(changes ?? {})) setState(state.context, key, value);
  const { isLost } = journal;
  delete journal.isLost;
  return {
    type: 'result',
    status: isError ? 'error' : 'success',
    content: isLost === undefined ? content : [LOST[isLost], ...content],
    durationMs,
    // The worker's cache has the result without that text.
    ...(isLost === undefined ? { resultId: id } : {}),
    applied: true,
    ...defined({ finalAnswer: final }),
  };
}

// Tool phase: calls that code makes.

/** The result of a cell whose run was told to do something else. */
const STEERED = 'The code was ended before its end, because a message to the run arrived.';

/** Records the results of calls that code made, and continues with its cell; or ends the cell, if the run must not continue with it. */
function afterCallsOfCode(acting: ToolBatchContext, ports: RunPorts, cell: PhasePosition, outcomes: (ToolOutcome | null)[]): NextStep {
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
  const ended = replacementOutcome(ports, outcomes);
  if (ended !== undefined) {
    dropCell(state);
    delete code.calls;
    return afterCell(cell, ended);
  }
  addResults(
    state,
    calls.map((call, index) => resultForCode(resultOf(call, outcomes[index] ?? interruptedResult()))),
  );
  return cell;
}

/** Returns the value or the error of a call for the code: the only item of its content, or the list if there are several. */
function resultForCode({ status, content }: Pick<ToolOutcome & { type: 'result' }, 'status' | 'content'>): CodeCallResult {
  if (status === 'error') return { error: resultText(content) };
  const [value = null, ...more] = content;
  return { value: more.length === 0 ? value : content };
}

/** Returns the outcome of a cell that must not continue: its run is cancelled, a message steers it, or no worker could make a call. */
function replacementOutcome(ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): ToolOutcome | undefined {
  const missing = noWorker(outcomes);
  if (missing !== undefined) return { ...callResult('error', INTERRUPTED_CALL), durationMs: null, noWorker: missing };
  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return { type: 'cancelled' };
  return ports.inbox.isSteered ? { ...callResult('error', STEERED), durationMs: null } : undefined;
}

/** The indexes of the cells that have no outcome yet. */
function pendingCells({ state, response, calls, final }: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): number[] {
  if (state.snapshot.code === undefined || final) return [];
  return calls.flatMap((call, index) =>
    call.name === RUN_CODE && (outcomes[index] ?? null) === null && problemOf(response, call) === undefined ? [index] : [],
  );
}

// Tool phase: the randomness of a cell.

/** Returns a whole number that a text always gives (FNV-1a, 32 bits). */
function seedOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  return hash >>> 0;
}

export const code: Capability<CodePorts> = {
  name: 'code',
  ...namespace,
  phases: { cell: { caller: 'code', pending: pendingCells, run: runCellPhase, callsEnded: afterCallsOfCode } },
};
