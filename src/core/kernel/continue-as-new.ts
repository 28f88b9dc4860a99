import { BYTE_BUDGETS, jsonBytes, MAX_PAYLOAD_BYTES } from '../domain/byte-budgets.ts';
import { isToolCall } from '../domain/content.ts';
import { defined, isJsonObject, type JsonObject } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { type ContinuedProgram, fromContinuedProgram, toContinuedProgram } from '../domain/program-run.ts';
import { jsonTextPrefix } from '../domain/text.ts';
import { idsOutside, wholeText, type Window, windowText } from '../domain/window.ts';
import type { ContinuedInbox } from './inbox.ts';
import { BYTES_PER_TOKEN, sizesOf } from '../domain/agent.ts';
import type { NextStep, PhasePosition, Position, RunPosition, ToolsPosition } from './next-step.ts';
import { points } from './points.ts';
import {
  type Growth,
  type Leaving,
  recordedResults,
  type RunPorts,
  type ToolInvocation,
  type ToolOutcome,
  withoutRecorded,
} from './ports.ts';
import { carriedSlices, resumedSlices, type RunState, sliceBytes, type Slices, slicesProblem } from './run-state.ts';
import type { ToolBatch } from './tool-calls.ts';

// Shared state: room in the history, before a model call and before a tool call.

/** One activity: three events of its own, three of the workflow task, and their size without the activity's content. */
const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/**
 * The maximum bytes of a response (without its content, which is in the window) and its results when a run continues in the middle of it.
 */
const CARRIED_TOOLS_BYTES = 100_000;

/** Continues as new before a model call if the history of this execution is full and the state is small enough to be carried. */
export function continueBeforeModelCall(state: RunState, ports: RunPorts, position: Position): NextStep | undefined {
  if (!ports.continueDue(ACTIVITY)) return undefined;
  points.beforeContinuing(state);
  return fitsContinueAsNew(state) ? { type: 'continue', position } : undefined;
}

/**
 * True if a tool call is left to the next execution: the history of this one is full, and the results of earlier calls are small enough to
 * be carried. The response may have made the window too large; room is made in it once the calls have results.
 */
export function continueBeforeTool(
  state: RunState,
  ports: RunPorts,
  batch: Pick<ToolBatch, 'response' | 'outcomes' | 'earlier'>,
  leaving?: Leaving,
): boolean {
  // A cancellation is not carried over: the run ends here.
  if (ports.cancelRequested() || !ports.continueDue(ACTIVITY, leaving)) return false;
  if (!points.mayContinue(state)) return false;
  const { response, outcomes, earlier = [] } = batch;
  let bytes = jsonBytes({ ...response, content: [], providerItems: [], sources: [] });
  for (const outcome of [...earlier, ...outcomes]) {
    if (bytes > CARRIED_TOOLS_BYTES) return false;
    bytes += jsonBytes(outcome?.type === 'result' && outcome.recordedAt !== undefined ? withoutRecorded(outcome) : outcome);
  }
  return bytes <= CARRIED_TOOLS_BYTES && fitsContinueAsNew(state, bytes);
}

/** True if the unrecorded results are too large to wait for other calls: a carried state has little room for them. */
export function hasMuchToRecord(outcomes: readonly (ToolOutcome | null)[]): boolean {
  let bytes = 0;
  for (const outcome of outcomes) if (outcome !== null && outcome.recordedAt === undefined) bytes += jsonBytes(outcome);
  return bytes > CARRIED_TOOLS_BYTES / 2;
}

/** The maximum bytes that a call adds to the history and to memory while it runs. */
export function bytesInFlight({ call, tool }: ToolInvocation): number {
  return ACTIVITY.bytes + jsonBytes(call.arguments) + (tool.maxResultBytes ?? 0);
}

// Shared state: the size limit of the window.

/**
 * Bytes of the carried state that are not counted below: deps, queue, requests, ids of messages, events and removed calls, the last thought,
 * numbers.
 */
const CARRIED_BESIDE_BYTES = BYTE_BUDGETS.deps + BYTE_BUDGETS.queue + BYTE_BUDGETS.requests + 252_000;

/** Bytes of a carried event besides its content and the name of its author: offset, id, names of fields. */
const EVENT_BYTES = 120;

/** The limits of a window. */
interface WindowLimits {
  /** The maximum bytes: the smaller of its policy's limit and the room in one payload for the carried state. */
  bytes: number;
  /** The maximum of the bytes that count as tokens (`windowText`), from the model's token limit. */
  text: number;
}

/** Returns the limits of the window. Undefined if the run's window is unbounded (see `AgentSnapshot.window`). */
export function windowLimits(state: RunState): WindowLimits | undefined {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  const bytes = Math.floor(Math.min(policy.maxBytes, carriableBytes(state)));
  return { bytes, text: Math.floor(bytesOfTokens(state, policy.maxTokens)) };
}

/** Returns the maximum bytes of a window without media. Zero or less if there is no room for a conversation. */
export function windowLimit(state: RunState): number | undefined {
  const limits = windowLimits(state);
  return limits && Math.min(limits.bytes, limits.text);
}

/** True if the window is larger than one of its limits. */
export function isWindowFull(state: RunState): boolean {
  const limits = windowLimits(state);
  return limits !== undefined && (state.window.bytes > limits.bytes || windowText(state.window) > limits.text);
}

/** True if the state of the run fits into one payload, together with `bytes` of a response and its results. */
export function fitsContinueAsNew(state: RunState, bytes = 0): boolean {
  return state.window.bytes + bytes <= carriableBytes(state);
}

function carriableBytes({ snapshot, context, window, approvals, limits, ...state }: RunState): number {
  const { whole, name } = sizesOf(snapshot);
  const events = window.events.length * (EVENT_BYTES + name);
  const notRun = state.toolCallsNotRun === undefined ? [] : [state.toolCallsNotRun];
  const numbers = [...state.toolCallsByName, ...notRun, ...state.toolCallsStarted, limits, ...(state.resultIds ?? [])];
  const counted = whole + jsonBytes([context.state, numbers, approvals]) + sliceBytes(state) + events;
  return MAX_PAYLOAD_BYTES - CARRIED_BESIDE_BYTES - counted;
}

/**
 * Returns the bytes of a window for which the next request has `maxTokens`: according to the provider's count of the last request or to the
 * estimate, whichever is less.
 */
function bytesOfTokens({ snapshot, measured }: RunState, maxTokens: number): number {
  const repeated = sizesOf(snapshot).request / BYTES_PER_TOKEN;
  const estimated = (maxTokens - repeated) * BYTES_PER_TOKEN;
  if (measured === undefined) return estimated;
  const { tokens, bytes } = measured;
  // Additional tokens are estimated; a counted request shrinks in proportion to its bytes.
  const counted =
    tokens <= maxTokens ? bytes + (maxTokens - tokens) * BYTES_PER_TOKEN : (bytes * (maxTokens - repeated)) / (tokens - repeated);
  return Math.min(estimated, counted);
}

// Shared state: what is carried into the next execution.

/** The version of the carried state that this code writes. */
export const STATE_VERSION = 1;

/**
 * The state that a run carries into its next execution, as that execution's input. All other data (events before `through`, steps) stays in
 * the histories of earlier executions. Plain JSON, at most one payload.
 */
export interface ContinueAsNewState extends Pick<RunState, CarriedField | CommonField> {
  version: typeof STATE_VERSION;
  /** The number of earlier executions of the run. */
  executions: number;
  position: ContinuedPosition;
  currentStep: number;
  state: JsonObject;
  toolCallsByName: [name: string, calls: number][];
  toolCallsStarted: [name: string, calls: number][];
  /** The carried values of capabilities. Absent if there are none. */
  slices?: Slices;
  /** The units and steps of a program's run. */
  program?: ContinuedProgram;
  /** Absent if no tool has asked the model to try again. */
  modelRetries?: [name: string, retries: number][];
  /** The offsets and ids of events that nothing else in the histories names, for readers. Absent if there are none. */
  otherIds?: [offset: number, id: string][];
  inbox: ContinuedInbox;
}

/** The fields that a run carries unchanged, except for shortened texts. */
type CarriedField =
  | 'runId'
  | 'snapshot'
  | 'deps'
  | 'startedAt'
  | 'window'
  | 'lastStep'
  | 'thought'
  | 'partial'
  | 'usage'
  | 'toolCallsTotal'
  | 'outputRetries'
  | 'seenEvents'
  | 'approvals'
  | 'limits';

/** The position at which the loop continues. The content of a response is left out, because the window contains it as an event. */
type ContinuedPosition = Extract<RunPosition, { type: 'call_model' | 'idle' }> | ContinuedTools | ContinuedPhase;

/** The position among the calls of a response. Calls that no model made are not in the window: their content is carried. */
type ContinuedTools = Omit<ToolsPosition, 'response' | 'within'> & {
  response: Omit<RecordedResponse, 'content' | 'providerItems' | 'sources'> & Partial<Pick<RecordedResponse, 'content'>>;
  within?: ContinuedPhase;
};

type ContinuedPhase = Omit<PhasePosition, 'tools'> & { tools: ContinuedTools };

/** The part of the carried state that is unknown to the loop. */
type ContinueAsNewOptions = Pick<ContinueAsNewState, 'executions' | 'inbox'>;

/** Bytes of JSON of the longest carried thought. It becomes the output if a limit ends the run right after. */
const THOUGHT_BYTES = 48_000;

/** The most bytes of JSON of a character, and of the quotation marks of a text. */
const MOST_ESCAPED_BYTES = 14;

/** The carried state, or why this code cannot continue with it. */
type ContinuedStateCheck = { ok: true; continuedState: ContinueAsNewState } | { ok: false; problem: string };

/**
 * Reads the state that the previous execution carried over. Checks only the version, because a run wrote the state. If it has passed
 * through other hands since then (`isForeign`), also checks the shapes that its slices declare.
 */
export function readContinueAsNewState(value: unknown, { isForeign = false } = {}): ContinuedStateCheck {
  const version = isJsonObject(value) ? value['version'] : undefined;
  if (version === STATE_VERSION) {
    const continuedState = value as ContinueAsNewState;
    const misfit = isForeign ? (slicesProblem(continuedState) ?? slicesProblem(continuedState.inbox)) : undefined;
    if (misfit === undefined) return { ok: true, continuedState };
    return {
      ok: false,
      problem: `the carried state of the run was changed: ${misfit}. Pass it on exactly as the previous execution returned it`,
    };
  }
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
  const otherIds = idsOutside(state.window, context.events.slice(Math.max(0, state.seenEvents - state.firstOffset)));
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
    // The thought of the last step, if there is one, equals `thought` and is carried once.
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
    ...(otherIds.length === 0 ? {} : { otherIds }),
    inbox,
  };
}

/** The optional fields that occur in both the run and the carried state. */
const COMMON_FIELDS = ['measured', 'toolCallsNotRun', 'resultIds', 'lastError', 'principal'] as const;

type CommonField = (typeof COMMON_FIELDS)[number];

function setFields(from: RunState | ContinueAsNewState): Pick<RunState & ContinueAsNewState, CommonField> {
  return Object.fromEntries(COMMON_FIELDS.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

/** True if a thought is longer than what is carried of it: the window has the rest. */
export function isCutIfCarried(thought: string): boolean {
  return jsonBytes(thought) > THOUGHT_BYTES - MOST_ESCAPED_BYTES;
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

/** Leaves out the content of the response and of results that are already recorded. */
function toContinuedTools({ within, ...position }: ToolsPosition, window: Window): ContinuedTools {
  const { content, providerItems: _, sources: __, ...response } = position.response;
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
  const thought = isCutIfCarried(carried.thought) ? wholeText(window, carried.thought) : carried.thought;
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
    ...(lastStep === undefined ? {} : { lastStep: { ...lastStep, thought: lastStep.thought === null ? null : thought } }),
    thought,
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
