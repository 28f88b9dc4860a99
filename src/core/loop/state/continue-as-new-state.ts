// Shared state: what is carried into the next execution.

import type { AgentSnapshot } from '../../domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import type { RunLimits } from '../../domain/agent/limits.ts';
import type { NotArchived } from '../../domain/record/not-archived.ts';
import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import { isToolCall } from '../../domain/content/content.ts';
import { jsonTextPrefix } from '../../domain/content/text.ts';
import type { AggregatedUsage } from '../../domain/model/usage.ts';
import type { Window } from '../../domain/record/window.ts';
import { type Approvals, noApprovals } from '../approvals/approvals.ts';
import type { Position, ToolsPosition } from '../next-step.ts';
import type { CarriedInbox } from './inbox.ts';
import { recordedResults, withoutRecorded } from '../tool-phase/results-in-window.ts';
import type { LastStep, MeasuredWindow, RunState } from './run-state.ts';

/** The version of the carry that this code writes. */
export const STATE_VERSION = 1;

/**
 * All of a run that goes on in its next execution: the input of that execution. What it leaves behind (events before
 * `through`, steps) stays in the history of the executions before. Plain JSON, at most one payload.
 */
export interface ContinueAsNewState {
  version: typeof STATE_VERSION;
  runId: string;
  /** The executions of the run before the one that reads this. */
  executions: number;
  snapshot: AgentSnapshot;
  deps: JsonObject;
  /** Milliseconds since the epoch, of the run as a whole. */
  startedAt: number;
  position: CarriedPosition;
  window: Window;
  currentStep: number;
  state: JsonObject;
  lastStep?: LastStep;
  thought: string;
  /** What had arrived of an answer that was given up since the last step. */
  partial?: string;
  usage: AggregatedUsage;
  measured?: MeasuredWindow;
  toolCallsTotal: number;
  toolCallsByName: [name: string, calls: number][];
  outputRetries: number;
  seenEvents: number;
  resultIds?: string[];
  /** Absent in what a worker wrote that had no approvals, as the two below. */
  approvals?: Approvals;
  limits?: RunLimits;
  toolCallsStarted?: [name: string, calls: number][];
  /** Absent in what a worker wrote whose tools could not ask the model to try again. */
  modelRetries?: [name: string, retries: number][];
  lastError?: string;
  /** Absent where all is in the archive, and in what a worker wrote that did not say. */
  notArchived?: NotArchived[];
  inbox: CarriedInbox;
}

/** Where the loop goes on. The content of a response is in the window already, as its last event. */
export type CarriedPosition =
  | Extract<Position, { type: 'call_model' }>
  | (Omit<ToolsPosition, 'response'> & { response: Omit<RecordedResponse, 'content' | 'providerItems'> });

/** What the loop does not know of a run, and its next execution needs. */
export interface RunSurroundings {
  executions: number;
  inbox: CarriedInbox;
}

/** The longest text of a step that is carried, for the case that a limit ends the run right after. Bytes of JSON. */
const THOUGHT_BYTES = 48_000;

/** The carry of a run that stands at `position`. */
export function toContinueAsNewState(state: RunState, position: Position, { executions, inbox }: RunSurroundings): ContinueAsNewState {
  const { context, lastStep, measured, resultIds, lastError, notArchived } = state;
  return {
    version: STATE_VERSION,
    runId: state.runId,
    executions,
    snapshot: state.snapshot,
    deps: state.deps,
    startedAt: state.startedAt,
    position: carriedPosition(position, state.window),
    window: state.window,
    currentStep: context.currentStep,
    state: context.state,
    // What the last step said, if anything, is the last thought: it is carried once.
    ...(lastStep === undefined ? {} : { lastStep: { ...lastStep, thought: lastStep.thought === null ? null : '' } }),
    thought: cut(state.thought),
    ...(state.partial === undefined ? {} : { partial: cut(state.partial) }),
    usage: state.usage,
    ...(measured === undefined ? {} : { measured }),
    toolCallsTotal: state.toolCallsTotal,
    toolCallsByName: [...state.toolCallsByName],
    outputRetries: state.outputRetries,
    seenEvents: state.seenEvents,
    ...(resultIds === undefined ? {} : { resultIds }),
    approvals: state.approvals,
    limits: state.limits,
    toolCallsStarted: [...state.toolCallsStarted],
    ...(state.modelRetries.size === 0 ? {} : { modelRetries: [...state.modelRetries] }),
    ...(lastError === undefined ? {} : { lastError }),
    ...(notArchived === undefined ? {} : { notArchived }),
    inbox,
  };
}

function cut(thought: string): string {
  return jsonTextPrefix(thought, THOUGHT_BYTES);
}

/** What is in the window is not carried twice: the content of the response, and of the results that were recorded ahead of others. */
function carriedPosition(position: Position, window: Window): CarriedPosition {
  if (position.type === 'call_model') return position;
  const { content, providerItems: _, ...response } = position.response;
  const recorded = recordedResults(window, position.response.id);
  const calls = content.filter(isToolCall);
  const outcomes = position.outcomes.map((outcome, index) =>
    outcome?.type === 'result' && recorded.has(calls[index]?.toolCallId ?? '') ? withoutRecorded(outcome) : outcome,
  );
  return { ...position, response, outcomes };
}

/** The state of a run as its carry says, and where the loop goes on. */
export function fromContinueAsNewState(carry: ContinueAsNewState): { state: RunState; position: Position } {
  const { runId, snapshot, window, lastStep, measured, resultIds, lastError, notArchived } = carry;
  const state: RunState = {
    runId,
    snapshot,
    deps: carry.deps,
    context: { executionId: runId, events: [], currentStep: carry.currentStep, state: carry.state, finalResult: null },
    firstOffset: window.through,
    carriedEventId: window.lastEventId,
    window,
    status: 'running',
    phase: carry.position.type === 'call_model' ? 'between' : 'tools',
    steps: [],
    ...(lastStep === undefined ? {} : { lastStep: { ...lastStep, thought: lastStep.thought === null ? null : carry.thought } }),
    thought: carry.thought,
    ...(carry.partial === undefined ? {} : { partial: carry.partial }),
    usage: carry.usage,
    ...(measured === undefined ? {} : { measured }),
    toolCallsTotal: carry.toolCallsTotal,
    toolCallsByName: new Map(carry.toolCallsByName),
    startedAt: carry.startedAt,
    outputRetries: carry.outputRetries,
    seenEvents: carry.seenEvents,
    ...(resultIds === undefined ? {} : { resultIds }),
    approvals: carry.approvals ?? noApprovals(),
    limits: carry.limits ?? snapshot.limits,
    toolCallsStarted: new Map(carry.toolCallsStarted),
    modelRetries: new Map(carry.modelRetries),
    ...(lastError === undefined ? {} : { lastError }),
    ...(notArchived === undefined ? {} : { notArchived }),
  };
  return { state, position: positionOf(carry) };
}

function positionOf({ position, window }: ContinueAsNewState): Position {
  if (position.type === 'call_model') return position;
  const content = window.events.find(({ id }) => id === position.response.id)?.content ?? [];
  const recorded = recordedResults(window, position.response.id);
  const calls = content.filter(isToolCall);
  const outcomes = position.outcomes.map((outcome, index) => {
    const known = recorded.get(calls[index]?.toolCallId ?? '');
    return outcome?.type === 'result' && known !== undefined ? { ...outcome, content: known.content } : outcome;
  });
  return { ...position, response: { ...position.response, content }, outcomes };
}
