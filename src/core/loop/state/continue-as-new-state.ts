// Shared state: what is carried into the next execution.

import type { AgentSnapshot } from '../../domain/agent.ts';
import { defined } from '../../domain/defined.ts';
import { isJsonObject, type JsonObject } from '../../domain/json.ts';
import type { RunLimits } from '../../domain/limits.ts';
import type { Principal } from '../../domain/run.ts';
import type { RecordedResponse } from '../../domain/model.ts';
import { isToolCall } from '../../domain/content.ts';
import { jsonTextPrefix } from '../../domain/text.ts';
import type { SessionState } from '../../domain/sessions.ts';
import type { AggregatedUsage } from '../../domain/usage.ts';
import type { ParentRun } from '../../domain/run-input.ts';
import type { CallsNotRun } from '../../domain/tool-calls.ts';
import type { Window } from '../../domain/window.ts';
import type { Approvals } from './approval-state.ts';
import type { PhasePosition, RunPosition, ToolsPosition } from '../next-step.ts';
import type { LastStep, MeasuredWindow, RunState } from './run-state.ts';
import type { ContinuedInbox } from './inbox.ts';
import { carriedSlices, resumedSlices, type Slices } from './slices.ts';
import { recordedResults, withoutRecorded } from '../call-results.ts';
import { type ContinuedProgram, fromContinuedProgram, toContinuedProgram } from '../../domain/program-run.ts';

/** The version of the carried state that this code writes. */
export const STATE_VERSION = 1;

/**
 * The state that a run carries into its next execution, as the input of that execution. Its other data (events before `through`,
 * steps) stay in the histories of earlier executions. Plain JSON, at most one payload.
 */
export interface ContinueAsNewState {
  version: typeof STATE_VERSION;
  runId: string;
  /** The number of executions of the run before the one that reads this. */
  executions: number;
  snapshot: AgentSnapshot;
  deps: JsonObject;
  /** The start of the whole run, in milliseconds since the epoch. */
  startedAt: number;
  position: ContinuedPosition;
  window: Window;
  currentStep: number;
  state: JsonObject;
  lastStep?: LastStep;
  thought: string;
  /** The part that had arrived of an answer given up since the last step. */
  partial?: string;
  usage: AggregatedUsage;
  measured?: MeasuredWindow;
  toolCallsTotal: number;
  toolCallsByName: [name: string, calls: number][];
  /** Absent if all calls have run. */
  toolCallsNotRun?: CallsNotRun;
  outputRetries: number;
  seenEvents: number;
  resultIds?: string[];
  approvals: Approvals;
  limits: RunLimits;
  toolCallsStarted: [name: string, calls: number][];
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The turns, the limits and the amounts of a session. Absent for a run that ends with its answer. */
  session?: SessionState;
  /** The run that started this one as its child. */
  parent?: ParentRun;
  /** The values that capabilities keep, as far as they are carried. Absent if there are none. */
  slices?: Slices;
  /** The units and steps, if the run is that of a program. */
  program?: ContinuedProgram;
  /** Absent if no tool has asked the model to try again. */
  modelRetries?: [name: string, retries: number][];
  lastError?: string;
  inbox: ContinuedInbox;
}

/** The position at which the loop continues. The content of a response is left out, because the window contains it as an event. */
export type ContinuedPosition = Extract<RunPosition, { type: 'call_model' | 'idle' }> | ContinuedTools | ContinuedPhase;

/** The position among the calls of a response. Calls that no model made are not in the window: their content is carried. */
export type ContinuedTools = Omit<ToolsPosition, 'response' | 'within'> & {
  response: Omit<RecordedResponse, 'content' | 'providerItems'> & Partial<Pick<RecordedResponse, 'content'>>;
  within?: ContinuedPhase;
};

export type ContinuedPhase = Omit<PhasePosition, 'tools'> & { tools: ContinuedTools };

/** The part of the carried state that the loop does not know. */
export interface ContinueAsNewOptions {
  executions: number;
  inbox: ContinuedInbox;
}

/** Bytes of JSON of the longest thought that is carried. It becomes the output if a limit ends the run right after. */
const THOUGHT_BYTES = 48_000;

/** The beginning of an execution as Temporal records it. */
export interface ExecutionOrigin {
  /** The execution before; undefined for the first one. */
  continuedFrom?: string | undefined;
  cronSchedule?: string | undefined;
  /** The number of the attempt by a retry policy of the workflow. 1-based. */
  attempt: number;
}

/**
 * Returns why an execution cannot have been given a state by the execution before it; undefined if it can. Its state is not checked any
 * further: only the code of a workflow can continue as new. A first execution, one by a cron schedule and a further attempt have the
 * input of a caller.
 */
export function originProblem({ continuedFrom, cronSchedule, attempt }: ExecutionOrigin): string | undefined {
  if (continuedFrom === undefined) return 'this is a first execution';
  if (cronSchedule !== undefined && cronSchedule !== '') return 'this one was started by a cron schedule';
  return attempt > 1 ? `this one is attempt ${attempt} of a retry policy` : undefined;
}

/** The carried state, or why this code cannot continue with it. */
export type ContinuedStateCheck = { ok: true; continuedState: ContinueAsNewState } | { ok: false; problem: string };

/** Reads the state that the execution before has carried over. Only its version is checked: a run has written it. */
export function readContinueAsNewState(value: unknown): ContinuedStateCheck {
  const version = isJsonObject(value) ? value['version'] : undefined;
  if (version === STATE_VERSION) return { ok: true, continuedState: value as ContinueAsNewState };
  const found = typeof version === 'number' ? `has version ${version}` : 'has no version';
  const problem = `the carried state of the run ${found}, and this code reads version ${STATE_VERSION}: use the release that wrote it, or a newer one`;
  return { ok: false, problem };
}

/** Converts the state of a run at `position` to the carried state. */
export function toContinueAsNewState(
  state: RunState,
  position: RunPosition,
  { executions, inbox }: ContinueAsNewOptions,
): ContinueAsNewState {
  const { context, lastStep } = state;
  return {
    version: STATE_VERSION,
    runId: state.runId,
    executions,
    snapshot: state.snapshot,
    deps: state.deps,
    startedAt: state.startedAt,
    position: toContinuedPosition(position, state.window),
    window: state.window,
    currentStep: context.currentStep,
    state: context.state,
    // The thought of the last step, if it has one, equals `thought` and is carried once.
    ...(lastStep === undefined ? {} : { lastStep: { ...lastStep, thought: lastStep.thought === null ? null : '' } }),
    thought: cut(state.thought),
    ...(state.partial === undefined ? {} : { partial: cut(state.partial) }),
    usage: state.usage,
    toolCallsTotal: state.toolCallsTotal,
    toolCallsByName: [...state.toolCallsByName],
    outputRetries: state.outputRetries,
    seenEvents: state.seenEvents,
    approvals: state.approvals,
    limits: state.limits,
    toolCallsStarted: [...state.toolCallsStarted],
    ...(state.modelRetries.size === 0 ? {} : { modelRetries: [...state.modelRetries] }),
    ...setFields(state),
    ...carriedSlices(state),
    ...(state.program === undefined ? {} : { program: toContinuedProgram(state.program) }),
    inbox,
  };
}

/** The optional fields that a run and the carried state have in common. */
const COMMON_FIELDS = [
  'measured',
  'toolCallsNotRun',
  'resultIds',
  'lastError',
  'principal',
  'session',
  'parent',
] as const;

type CommonField = (typeof COMMON_FIELDS)[number];

function setFields(from: RunState | ContinueAsNewState): Pick<RunState & ContinueAsNewState, CommonField> {
  return Object.fromEntries(COMMON_FIELDS.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

function cut(thought: string): string {
  return jsonTextPrefix(thought, THOUGHT_BYTES);
}

/** Leaves out the parts of a position that the window contains. */
function toContinuedPosition(position: RunPosition, window: Window): ContinuedPosition {
  if (position.type === 'call_model' || position.type === 'idle') return position;
  return position.type === 'run_phase' ? toContinuedPhase(position, window) : toContinuedTools(position, window);
}

function toContinuedPhase(phase: PhasePosition, window: Window): ContinuedPhase {
  return { ...phase, tools: toContinuedTools(phase.tools, window) };
}

/** Leaves out the content of the response, and of results that are recorded already. */
function toContinuedTools({ within, ...position }: ToolsPosition, window: Window): ContinuedTools {
  const { content, providerItems: _, ...response } = position.response;
  if (within !== undefined) return { ...position, response: { ...response, content }, within: toContinuedPhase(within, window) };
  const recorded = recordedResults(window, position.response.id);
  const calls = content.filter(isToolCall);
  const outcomes = position.outcomes.map((outcome, index) =>
    outcome?.type === 'result' && recorded.has(calls[index]?.toolCallId ?? '') ? withoutRecorded(outcome) : outcome,
  );
  return { ...position, response, outcomes };
}

/** Restores the state of a run, and the position at which its loop continues, from the carried state. */
export function fromContinueAsNewState(carried: ContinueAsNewState): { state: RunState; position: RunPosition } {
  const { runId, snapshot, window, lastStep } = carried;
  const state: RunState = {
    runId,
    snapshot,
    deps: carried.deps,
    context: { executionId: runId, events: [], currentStep: carried.currentStep, state: carried.state, finalResult: null },
    firstOffset: window.through,
    carriedEventId: window.lastEventId,
    window,
    status: carried.position.type === 'idle' ? 'idle' : 'running',
    phase: carried.position.type === 'call_model' || carried.position.type === 'idle' ? 'between' : 'tools',
    steps: [],
    ...(lastStep === undefined ? {} : { lastStep: { ...lastStep, thought: lastStep.thought === null ? null : carried.thought } }),
    thought: carried.thought,
    ...defined({ partial: carried.partial }),
    usage: carried.usage,
    toolCallsTotal: carried.toolCallsTotal,
    toolCallsByName: new Map(carried.toolCallsByName),
    startedAt: carried.startedAt,
    outputRetries: carried.outputRetries,
    seenEvents: carried.seenEvents,
    approvals: carried.approvals,
    limits: carried.limits,
    toolCallsStarted: new Map(carried.toolCallsStarted),
    modelRetries: new Map(carried.modelRetries),
    ...setFields(carried),
    slices: resumedSlices(carried),
    ...programOf(carried),
  };
  return { state, position: positionOf(carried) };
}

/** Restores the state of a program. Its document is in the snapshot. */
function programOf({ snapshot, program }: ContinueAsNewState): Pick<RunState, 'program'> {
  return snapshot.program === undefined || program === undefined ? {} : { program: fromContinuedProgram(snapshot.program, program) };
}

function positionOf({ position, window }: ContinueAsNewState): RunPosition {
  if (position.type === 'call_model' || position.type === 'idle') return position;
  return position.type === 'run_phase' ? phaseOf(position, window) : toolsOf(position, window);
}

function phaseOf(phase: ContinuedPhase, window: Window): PhasePosition {
  return { ...phase, tools: toolsOf(phase.tools, window) };
}

function toolsOf({ within, ...position }: ContinuedTools, window: Window): ToolsPosition {
  const { content: calls = [], ...response } = position.response;
  if (within !== undefined) return { ...position, response: { ...response, content: calls }, within: phaseOf(within, window) };
  const content = window.events.find(({ id }) => id === response.id)?.content ?? [];
  const recorded = recordedResults(window, response.id);
  const called = content.filter(isToolCall);
  const outcomes = position.outcomes.map((outcome, index) => {
    const known = recorded.get(called[index]?.toolCallId ?? '');
    return outcome?.type === 'result' && known !== undefined ? { ...outcome, content: known.content } : outcome;
  });
  return { ...position, response: { ...response, content }, outcomes };
}
