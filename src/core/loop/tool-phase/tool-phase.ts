// Tool phase: its steps in order.

import { isToolCall } from '../../domain/content/content.ts';
import { RUN_CODE } from '../../domain/content/tool-text.ts';
import { finish, finishChecked, mayRetryOutput } from '../answer.ts';
import { agentOf } from '../children/call-of-agent.ts';
import { endOfFinalAgent } from '../children/end-of-final-agent.ts';
import { isAskedAbout } from '../approvals/approvals.ts';
import { askAtLimit } from '../limits/ask-at-limit.ts';
import { endCancelled, endFailed, endAtLimit } from '../endings/endings.ts';
import { reserveCalls } from '../limits/limits.ts';
import type { NextStep, ToolsPosition } from '../next-step.ts';
import { endedByNoWorker } from './no-worker.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { isStopped } from './stop-batch.ts';
import { interrupted, overLimit } from './call-results.ts';
import { type Acting, finalOutput, isFinalAnswer, prepareCall, type PreparedCall, problemOf } from './prepare-call.ts';
import { takeNarrowings } from '../permissions/permission-changes.ts';
import { permissionVerdict } from '../permissions/run-permissions.ts';
import { recordResults, recordToolStep } from './record-results.ts';
import { afterCallsOfCode } from '../code/calls-of-code.ts';
import { isParallel } from '../flows/branch-input.ts';
import { mergeOutcomes } from '../flows/merge-outcomes.ts';
import { finalAnswerOfCode } from '../code/final-answer.ts';
import { handOver } from '../handoffs/switch-agent.ts';
import { asRewritten, noteRewrites } from '../hooks/rewritten-arguments.ts';
import { beforeCalls, hasHooksBefore } from '../hooks/review-calls.ts';
import { isTransfer } from '../handoffs/transfer-calls.ts';
import { findEvent, type RunState } from '../state/run-state.ts';
import { settleDecisions } from '../approvals/settle-decisions.ts';
import { runInTurn } from './run-in-turn.ts';
import { ToolScheduler } from './tool-scheduler.ts';

/**
 * Reserves room for the calls within the limits, prepares them in order, executes them, and records the
 * results in the order of the model, and the step. If the history is full in the middle of it, the run goes on in the
 * next execution with the calls that have no outcome yet.
 */
export async function runToolPhase(state: RunState, ports: RunPorts, from: ToolsPosition): Promise<NextStep> {
  state.phase = 'tools';
  // Awaited only on demand: in the sandbox every promise costs a stack trace.
  const position = hasHooksBefore(state, ports, from) ? await beforeCalls(state, ports, from) : from;
  // Calls that have not begun must not run by permissions that a caller has narrowed before.
  takeNarrowings(state, ports);
  const acting = actingOn(state, position);
  const cells = pendingCells(acting, position.outcomes);
  noteRewrites(state, position.response);
  const { outcomes, instead, isOverLimit } = await runCalls(acting, ports, position, cells);
  if (instead !== undefined) return instead;
  // Decisions that came too late are refused, and their senders are told.
  if (ports.inbox.decisions.length > 0) await settleDecisions(state, ports);
  const limited = isOverLimit ? { overLimit: true as const } : {};
  delete state.rewrites;
  if (position.cell !== undefined) {
    const { cell } = position;
    return afterCallsOfCode(acting, ports, { ...cell, tools: { ...cell.tools, ...limited } }, outcomes);
  }
  const [index] = cells;
  if (index !== undefined) {
    // Calls that wait for the cells are given up with them.
    if (isStopped(state, ports, { outcomes }, true))
      for (const [call, outcome] of outcomes.entries()) outcomes[call] = outcome ?? interrupted();
    recordResults(acting, ports, outcomes);
    if (outcomes.includes(null)) return { type: 'run_cell', tools: { ...position, outcomes, ...limited }, index };
  } else recordResults(acting, ports, outcomes);
  recordToolStep(acting, outcomes);
  state.approvals.approved = [];

  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return endCancelled(state);
  const ended = endedByNoWorker(state, ports, outcomes);
  if (ended !== undefined) return ended;
  return afterTools(acting, ports, outcomes, isOverLimit);
}

/** The outcomes of the calls of a response, null for its cells; or the next step, if the calls have not all ended. */
interface CallsRun {
  outcomes: (ToolOutcome | null)[];
  isOverLimit: boolean;
  instead?: NextStep;
}

/** Runs the calls of a response but its cells, for which there is nothing to schedule. A transfer waits for all others, and so for the cells. */
async function runCalls(acting: Acting, ports: RunPorts, position: ToolsPosition, cells: readonly number[]): Promise<CallsRun> {
  const { state, response, calls } = acting;
  const { final } = position;
  const transfers = calls.flatMap((call, index) => (isTransfer(state, call) ? [index] : []));
  const left = cells.length === 0 ? [] : [...cells, ...transfers];
  const indexes = calls.map((_, index) => index).filter((index) => !left.includes(index));
  const before = indexes.map((index) => position.outcomes[index] ?? null);
  const some: Acting = left.length === 0 ? acting : { ...acting, calls: calls.filter((_, index) => !left.includes(index)) };
  const names = final ? [] : namesToStart(some, before);
  let reservation = reserveCalls(state, names);
  // If a person is asked at limits, no call starts before there is room for all of them, or the person has refused.
  if (reservation.reached !== undefined && state.limits.onLimit === 'ask' && !position.limitRefused) {
    const next = await askAtLimit(state, ports, position, () => (reservation = reserveCalls(state, names)).reached);
    // After a refusal the calls that fit are executed, and then the limit ends the run.
    if (next !== undefined) {
      const instead = next.type === 'finish' ? { ...position, limitRefused: true as const } : next;
      return { outcomes: [], isOverLimit: false, instead };
    }
  }
  const { refused } = reservation;
  const isOverLimit = refused.size > 0 || position.overLimit === true;
  const prepared = prepare({ ...some, isLast: isOverLimit || hasAnswer(acting) }, refused);
  const ended = await runInTurn(some, ports, { response, prepared, outcomes: before }, (turn, batch) =>
    new ToolScheduler(turn, ports, batch).execute(),
  );
  const outcomes: (ToolOutcome | null)[] = calls.map(() => null);
  for (const [place, index] of indexes.entries()) outcomes[index] = ended[place] ?? null;
  if (!ended.includes(null)) return { outcomes, isOverLimit };
  const open: ToolsPosition = { ...position, outcomes, ...(isOverLimit ? { overLimit: true as const } : {}) };
  return { outcomes, isOverLimit, instead: { type: 'continue', position: open } };
}

/** The indexes of the cells that have no outcome yet. */
function pendingCells({ state, response, calls, final }: Acting, outcomes: readonly (ToolOutcome | null)[]): number[] {
  if (state.snapshot.code === undefined || final) return [];
  return calls.flatMap((call, index) =>
    call.name === RUN_CODE && (outcomes[index] ?? null) === null && problemOf(response, call) === undefined ? [index] : [],
  );
}

function actingOn(state: RunState, { response, final, cell }: ToolsPosition): Acting {
  const offset = findEvent(state, response.id)?.offset ?? state.window.through - 1;
  return { state, response, calls: response.content.filter(isToolCall), offset, final, inCode: cell !== undefined };
}

/** True if the response holds the answer of the run. */
function hasAnswer({ state, response, calls }: Acting): boolean {
  return calls.some((call) => isFinalAnswer(state, call) && problemOf(response, call) === undefined);
}

/** Prepares the calls; one that the limits refuse has its result already. */
function prepare(acting: Acting, refused: ReadonlySet<number>): PreparedCall[] {
  return acting.calls.map((call, index) => (refused.has(index) ? { type: 'immediate', outcome: overLimit() } : prepareCall(acting, call)));
}

/** Returns the name of each call that would start, by index. A call about whose outcome a person is asked has started already, and so has one whose agent runs. */
function namesToStart({ state, response, calls }: Acting, outcomes: readonly (ToolOutcome | null)[]): (string | undefined)[] {
  const { tools } = state.snapshot;
  const { pending } = state.approvals;
  return calls.map((call, index) => {
    const starts =
      (outcomes[index] ?? null) === null &&
      !isAskedAbout(pending, call.toolCallId) &&
      agentOf(state, { eventId: response.id, index: response.content.indexOf(call) }) === undefined &&
      problemOf(response, call) === undefined &&
      !isFinalAnswer(state, call) &&
      tools.some(
        (tool) =>
          tool.name === call.name &&
          !tool.notExecutable &&
          permissionVerdict(state, tool, asRewritten(response, call).arguments).denied === undefined,
      );
    return starts ? call.name : undefined;
  });
}

function afterTools(acting: Acting, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[], isOverLimit: boolean): NextStep {
  const { state, response, calls, final } = acting;
  if (final) return endAtLimit(state);
  if (response.verdict !== undefined) return finishChecked(state, ports, response, final);
  if (isParallel(state)) {
    const merged = mergeOutcomes(state, calls, outcomes);
    return 'status' in merged ? { type: 'finish', ending: merged } : finish(state, ports, { ...merged, final: false });
  }
  const ended = endOfFinalAgent(outcomes);
  if (ended !== undefined) {
    if (ended.status !== 'completed') return { type: 'finish', ending: ended };
    const { output, finishReason } = ended;
    return finish(state, ports, { output, final: false, ...(finishReason === undefined ? {} : { finishReason }) });
  }
  const answered = finalAnswerOfCode(state, outcomes);
  if (answered !== undefined) return finish(state, ports, { output: answered.output, final: false });
  const answers = calls.filter((call) => isFinalAnswer(state, call));
  const valid = answers.find((call) => problemOf(response, call) === undefined);
  if (valid !== undefined) return finish(state, ports, { output: finalOutput(response, valid), final: false });
  if (isOverLimit) return endAtLimit(state, 'tool_call_limit');
  if (answers.length === 0 || mayRetryOutput(state)) {
    handOver(state, ports, outcomes);
    return { type: 'call_model', final: false };
  }
  const problem = answers.map((call) => problemOf(response, call)).join('; ');
  return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
}
