import { isToolCall } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import { limitValues } from '../domain/limits.ts';
import { unitResults } from '../domain/program-run.ts';
import type { RunResultFields } from '../domain/result.ts';
import { isoTime } from '../domain/time.ts';
import { noUsage } from '../domain/usage.ts';
import { noteRewrites } from '../domain/rewrites.ts';
import { askAtLimit, settleDecisions } from './approvals.ts';
import type { CallOfPhase } from './capability.ts';
import { finalOutput, findEvent, isFinalAnswer, prepareCalls, problemOf, recordResults, recordToolStep } from './tool-calls.ts';
import { endsByDeadline } from './limits.ts';
import { takeMessages } from './messages.ts';
import { acceptAnswer, finishChecked, finishWithAnswer, mayRetryOutput, runModelPhase } from './model-phase.ts';
import {
  endAtLimit,
  endCancelled,
  endFailed,
  type Ending,
  type NextStep,
  type Position,
  type RunPosition,
  type ToolBatchContext,
  type ToolsPosition,
} from './next-step.ts';
import { points } from './points.ts';
import { interruptedResult, noWorker, type RunPorts, type ToolOutcome } from './ports.ts';
import type { RunClock, RunState } from './run-state.ts';
import { isStopped, scheduleCalls } from './tool-scheduler.ts';

// The loop: model phase and tool phase in turn, then closing.

/** The end of the loop in one execution: the run is over, or continues from a position in the next. */
export type LoopEnd<At extends RunPosition = RunPosition> =
  | { type: 'finished'; result: RunResultFields }
  | { type: 'continue'; position: At };

/** The end of a turn in one execution: the turn ends, with an answer or otherwise, or continues in the next execution. */
export type TurnEnd = { type: 'finish'; ending: Ending } | { type: 'continue'; position: Position };

export const BEGINNING: Position = { type: 'call_model', final: false };

/**
 * Runs the agent loop: calls the model and its tools until a phase ends the run. The loop is pure: every effect goes through `ports`, every
 * decision uses recorded data only, and failures of a model or a tool are never thrown.
 */
export async function runLoop(state: RunState, ports: RunPorts, from: Position = BEGINNING): Promise<LoopEnd<Position>> {
  const end = await runTurn(state, ports, from);
  if (end.type === 'continue') return end;
  // Accepted messages belong in the record, even if no model will read them.
  takeMessages(state, ports);
  return { type: 'finished', result: closeRun(state, ports, end.ending) };
}

/** Runs the loop from a message to its answer or another ending. */
export async function runTurn(state: RunState, ports: RunPorts, from: Position): Promise<TurnEnd> {
  let next: NextStep = from;
  while (next.type !== 'continue' && next.type !== 'finish') {
    if (next.type === 'call_model') next = await runModelPhase(state, ports, next);
    else if (next.type === 'check_output')
      next = (await points.answerGiven(state, ports, next.answered.output)) ?? acceptAnswer(state, ports, next.answered, true);
    else next = next.type === 'run_tools' ? await runToolPhase(state, ports, next) : await points.phase(next.phase).run(state, ports, next);
    ports.recorded?.(state);
  }
  return next.type === 'finish' ? inTime(state, ports, next) : next;
}

/** Returns the end of a turn. After the deadline no answer counts, and calls that were cancelled were given up for it. */
function inTime(state: RunState, ports: RunPorts, end: Extract<NextStep, { type: 'finish' }>): TurnEnd {
  const isLate = end.ending.status === 'completed' || (end.ending.status === 'cancelled' && !ports.cancelRequested());
  if (!isLate || !endsByDeadline(state, ports.now())) return end;
  state.context.finalResult = null;
  return endAtLimit(state, 'deadline');
}

// Tool phase: its steps in order.

/**
 * Reserves room for the calls within the limits, prepares them in order, executes them, and records the results in the model's order and
 * then the step. If the history fills up in the middle, the run continues in the next execution with the calls that have no outcome yet.
 */
async function runToolPhase(state: RunState, ports: RunPorts, from: ToolsPosition): Promise<NextStep> {
  state.phase = 'tools';
  // Awaited only on demand: in the sandbox every promise costs a stack trace.
  const reviewed = points.callsMade(state, ports, from);
  const position = reviewed === undefined ? from : await reviewed;
  noteRewrites(state, position.response);
  const acting = batchContext(state, position);
  // A call of which an attempt was made is completed. The scheduler asks the changed rules about the calls that have not begun.
  if (!hasBegunCall(acting, ports)) points.gateOpens(state, ports);
  const apart = points.callsOfPhases(acting, position.outcomes);
  const { outcomes, instead, isOverLimit } = await runCalls(acting, ports, position, apart);
  if (instead !== undefined) return instead;
  // Decisions that came too late are refused, and their senders receive the refusal.
  if (ports.inbox.decisions.length > 0) await settleDecisions(state, ports);
  const limited = isOverLimit ? { overLimit: true as const } : {};
  if (position.within !== undefined) {
    const { within } = position;
    return points.phase(within.phase).callsEnded(acting, ports, { ...within, tools: { ...within.tools, ...limited } }, outcomes);
  }
  const [first] = apart;
  if (first !== undefined) {
    // If the calls of separate phases are given up, so are the calls that wait for them.
    if (isStopped(state, ports, { outcomes }))
      for (const [call, outcome] of outcomes.entries()) outcomes[call] = outcome ?? interruptedResult();
    recordResults(acting, ports, outcomes);
    if (outcomes.includes(null)) return { type: 'run_phase', ...first, tools: { ...position, outcomes, ...limited } };
  } else recordResults(acting, ports, outcomes);
  recordToolStep(acting, outcomes);
  state.approvals.approved = [];

  const next = afterTools(acting, ports, outcomes, isOverLimit);
  points.stepEnded(state, ports, outcomes);
  return next;
}

/** The outcomes of the calls of a response, null for calls in separate phases; or the next step, if some calls have not ended. */
interface CallsRun {
  outcomes: (ToolOutcome | null)[];
  isOverLimit: boolean;
  instead?: NextStep;
}

/** Runs the calls of a response except those in separate phases (`apart`). A call that runs last waits for all others, including those. */
async function runCalls(
  acting: ToolBatchContext,
  ports: RunPorts,
  position: ToolsPosition,
  apart: readonly CallOfPhase[],
): Promise<CallsRun> {
  const { state, response, calls } = acting;
  const last = calls.flatMap((call, index) => (points.runsLast(state, call) ? [index] : []));
  const left = apart.length === 0 ? [] : [...apart.map(({ index }) => index), ...last];
  const indexes = calls.map((_, index) => index).filter((index) => !left.includes(index));
  const before = indexes.map((index) => position.outcomes[index] ?? null);
  const isLast = position.overLimit === true || hasAnswer(acting);
  const some = { ...acting, calls: left.length === 0 ? calls : calls.filter((_, index) => !left.includes(index)), isLast };
  let ready = prepareCalls(some, before);
  // If a person is asked at limits, no call starts until there is room for all of them or the person has refused.
  if (ready.reached !== undefined && state.limits.onLimit === 'ask' && !position.limitRefused) {
    const next = await askAtLimit(state, ports, position, () => (ready = prepareCalls(some, before)).reached);
    // After a refusal, the calls within the limit are executed, and then the limit ends the run.
    if (next !== undefined) {
      const instead = next.type === 'finish' ? { ...position, limitRefused: true as const } : next;
      return { outcomes: [], isOverLimit: false, instead };
    }
  }
  const { prepared, reached } = ready;
  const isOverLimit = reached !== undefined || position.overLimit === true;
  const ended = await scheduleCalls(some, ports, { response, prepared, outcomes: before });
  const outcomes: (ToolOutcome | null)[] = calls.map(() => null);
  for (const [place, index] of indexes.entries()) outcomes[index] = ended[place] ?? null;
  if (!ended.includes(null)) return { outcomes, isOverLimit };
  const open: ToolsPosition = { ...position, outcomes, ...(isOverLimit ? { overLimit: true as const } : {}) };
  return { outcomes, isOverLimit, instead: { type: 'continue', position: open } };
}

function batchContext(state: RunState, { response, final, within }: ToolsPosition): ToolBatchContext {
  const offset = findEvent(state, response.id)?.offset ?? state.window.through - 1;
  return {
    state,
    response,
    calls: response.content.filter(isToolCall),
    offset,
    final,
    caller: within && points.phase(within.phase).caller,
  };
}

function hasBegunCall({ response: { content }, calls, offset }: ToolBatchContext, ports: RunPorts): boolean {
  return ports.hasBegun !== undefined && calls.some((call) => ports.hasBegun?.({ offset, index: content.indexOf(call) }));
}

function hasAnswer({ state, response, calls }: ToolBatchContext): boolean {
  return calls.some((call) => isFinalAnswer(state, call) && problemOf(response, call) === undefined);
}

function afterTools(acting: ToolBatchContext, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[], isOverLimit: boolean): NextStep {
  const { state, response, calls, final } = acting;
  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return endCancelled(state);
  const missing = noWorker(outcomes);
  if (missing !== undefined) return endFailed(state, missing.code, missing.message);
  if (final) return endAtLimit(state);
  if (response.verdict !== undefined) return finishChecked(state, ports, response, final);
  const end = points.callsEnded({ state, calls, outcomes });
  if (end !== undefined)
    return 'status' in end ? { type: 'finish', ending: end } : finishWithAnswer(state, ports, { ...end, final: false });
  const answers = calls.filter((call) => isFinalAnswer(state, call));
  const valid = answers.find((call) => problemOf(response, call) === undefined);
  if (valid !== undefined) return finishWithAnswer(state, ports, { output: finalOutput(response, valid), final: false });
  if (isOverLimit) return endAtLimit(state, 'tool_call_limit');
  if (answers.length === 0 || mayRetryOutput(state)) return { type: 'call_model', final: false };
  const problem = answers.map((call) => problemOf(response, call)).join('; ');
  return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
}

// Closing: the result of a run.

export function closeRun(state: RunState, clock: Pick<RunClock, 'now'>, ending: Ending): RunResultFields {
  state.status = ending.status;
  return {
    ...closeUnstarted(
      { runId: state.runId, agentName: state.snapshot.name, startedAt: state.startedAt },
      clock,
      points.endingShown(state, ending),
    ),
    steps: state.steps,
    ...countsOf(state),
    limits: limitValues(state.limits),
    ...finishOf(state, ending),
    ...(state.program === undefined ? {} : { units: unitResults(state.program) }),
    ...points.resultParts(state),
  };
}

/** Returns the finish reason of the answer. Empty for a run without steps, and for a program, whose steps have their own. */
function finishOf(
  { lastStep, program }: RunState,
  { finishReason = lastStep?.finishReason }: Ending,
): Pick<RunResultFields, 'finishReason'> {
  return finishReason === undefined || program !== undefined ? {} : { finishReason };
}

/** Returns the amounts that a run has used, including what others have used for it, as fields of its result. */
export function countsOf(
  state: RunState,
): Pick<RunResultFields, 'stepsUsed' | 'usage' | 'toolCallsTotal' | 'toolCallsByName' | 'toolCallsNotRun' | 'descendants'> {
  const { context, usage, toolCallsTotal, toolCallsByName, toolCallsNotRun } = state;
  return {
    stepsUsed: context.currentStep,
    usage,
    toolCallsTotal,
    toolCallsByName: Object.fromEntries(toolCallsByName),
    ...defined({ toolCallsNotRun }),
    ...points.countParts(state),
  };
}

/** The known data of a run whose agent was never resolved. */
interface UnstartedRun {
  runId: string;
  agentName: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Returns the result of a run that ended before its first step, without a record. */
export function closeUnstarted(
  { runId, agentName, startedAt }: UnstartedRun,
  clock: Pick<RunClock, 'now'>,
  { output, status, stopReason, error, verdict, parts }: Ending,
): RunResultFields {
  const endedAt = clock.now();
  return {
    version: 1,
    runId,
    agentName,
    output,
    status,
    stopReason,
    steps: [],
    stepsUsed: 0,
    usage: noUsage(),
    toolCallsTotal: 0,
    toolCallsByName: {},
    startTime: isoTime(startedAt),
    endTime: isoTime(endedAt),
    durationSeconds: (endedAt - startedAt) / 1000,
    error: error?.message ?? null,
    ...defined({ errorCode: error?.code }),
    limits: { steps: 0 },
    ...defined({ verdict }),
    ...parts,
  };
}
