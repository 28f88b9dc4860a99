// Shared state: the run, and its record.

import type { AgentSnapshot } from '../../domain/agent/agent-snapshot.ts';
import type { ContentPart } from '../../domain/content/content.ts';
import { cutText } from '../../domain/content/cut-content.ts';
import { addEvent, incrementStep, newExecutionContext, type ExecutionContext } from '../../domain/record/execution-context.ts';
import { newEvent, type Event } from '../../domain/record/event.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import type { Archiving, NotArchived } from '../../domain/record/not-archived.ts';
import type { RunLimits } from '../../domain/agent/limits.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import type { RunStatus } from '../../domain/run/run-status.ts';
import type { StepResult, ToolCallRecord } from '../../domain/record/step.ts';
import { noUsage, type AggregatedUsage } from '../../domain/model/usage.ts';
import { emptyWindow, extendWindow, type Window } from '../../domain/record/window.ts';
import { type Approvals, noApprovals } from '../approvals/approvals.ts';
import type { RunClock } from './clock.ts';

/** The state of a run: one plain object, owned and changed by the loop alone. */
export interface RunState {
  runId: string;
  snapshot: AgentSnapshot;
  /** The run's JSON data, as the updates so far have left it. */
  deps: JsonObject;
  /** Its `events` are those of this execution; those before are in the executions before. */
  context: ExecutionContext;
  /** Offset of the first event of `context`: 0 until the run continues as new. */
  firstOffset: number;
  /** The id of the event before that one, where the run has continued as new. */
  carriedEventId?: string;
  /** What the model sees, whatever execution recorded it. */
  window: Window;
  status: RunStatus;
  /** Where the run is in its step. */
  phase: Phase;
  /** The steps recorded in this execution. */
  steps: StepResult[];
  /** The last step, whatever execution recorded it. */
  lastStep?: LastStep;
  /** The last text that the model said in a step, or an empty text. */
  thought: string;
  /** What had arrived of an answer that was given up since the last step. */
  partial?: string;
  usage: AggregatedUsage;
  /** What the last response cost, and the bytes of the window with it: what a window costs is estimated from that. */
  measured?: MeasuredWindow;
  toolCallsTotal: number;
  /** In the order of first use. A map, because models invent names such as `__proto__`. */
  toolCallsByName: Map<string, number>;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Structured answers that did not fit so far. */
  outputRetries: number;
  /** How many events the model has seen. */
  seenEvents: number;
  approvals: Approvals;
  /** As they are now: those of the snapshot until somebody raises them. */
  limits: RunLimits;
  /** Tool calls that have started, by the name of the tool: what the limits count. */
  toolCallsStarted: Map<string, number>;
  /** How often in a row calls of a tool have asked the model to try again, by the name of the tool. */
  modelRetries: Map<string, number>;
  /** The newest error that a tool gave, or that something met. */
  lastError?: string;
  /** The events that the archive is being given. Only while the loop does not run: before this execution ends. */
  archiving?: Archiving;
  /** The events of the run that are not in the archive, the oldest first: the newest ranges, up to 50. */
  notArchived?: NotArchived[];
  /** Ids of the results in the last event, where activities produced all of them. */
  resultIds?: string[];
}

/** A model call is in flight, or the calls of its response are at hand, or the next step has not begun. */
export type Phase = 'between' | 'model' | 'tools';

/** What an ending needs of the last step. */
export interface LastStep {
  thought: string | null;
  final: boolean;
}

/** What the provider counted for a window of some size. */
export interface MeasuredWindow {
  tokens: number;
  bytes: number;
}

/** What a run begins with. */
export interface RunBeginning {
  runId: string;
  snapshot: AgentSnapshot;
  input: string | ContentPart[];
  deps?: JsonObject | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** The state of a run that has its agent and its first message. */
export function newRunState({ runId, snapshot, input, deps = {}, startedAt }: RunBeginning, clock: RunClock): RunState {
  const state: RunState = {
    runId,
    snapshot,
    deps,
    context: newExecutionContext(runId),
    firstOffset: 0,
    window: emptyWindow(),
    status: 'running',
    phase: 'between',
    steps: [],
    thought: '',
    usage: noUsage(),
    toolCallsTotal: 0,
    toolCallsByName: new Map(),
    startedAt,
    outputRetries: 0,
    seenEvents: 0,
    approvals: noApprovals(),
    limits: snapshot.limits,
    toolCallsStarted: new Map(),
    modelRetries: new Map(),
  };
  recordEvent(state, clock, { author: 'user', content: [{ type: 'message', role: 'user', content: input }], timestamp: startedAt / 1000 });
  return state;
}

/** Appends an event made in the loop. Its id comes from the workflow, so that a reset run cannot repeat it with other content. */
export function recordEvent(state: RunState, clock: RunClock, event: Pick<Event, 'author' | 'content'> & Partial<Event>): void {
  const { executionId } = state.context;
  const stamp = { id: event.id ?? clock.uuid(), now: clock.now() };
  const recorded = { ...newEvent(stamp, executionId, event.author), ...event };
  addEvent(state.context, recorded);
  state.window = extendWindow(state.window, recorded);
  delete state.resultIds;
}

/** Appends a step and moves on to the next. */
export function recordStep(state: RunState, step: Omit<StepResult, 'step'>): void {
  state.steps.push({ step: state.context.currentStep + 1, ...step });
  state.lastStep = { thought: step.thought, final: step.final ?? false };
  if (step.thought !== null) state.thought = step.thought;
  delete state.partial;
  state.phase = 'between';
  incrementStep(state.context);
}

/** Names that a run counts by themselves, and their bytes of JSON. Models invent names, and all of them are carried on. */
const COUNTED_NAMES = { count: 300, bytes: 40_000 };

/** What calls by further names are counted under. */
const OTHER_NAMES = '(other)';

/** Counts a tool call, whatever comes of it. */
export function countToolCall(state: RunState, { toolName }: ToolCallRecord): void {
  const { toolCallsByName } = state;
  const name = toolCallsByName.has(toolName) || hasRoomFor(toolName, toolCallsByName) ? toolName : OTHER_NAMES;
  state.toolCallsTotal += 1;
  toolCallsByName.set(name, (toolCallsByName.get(name) ?? 0) + 1);
}

function hasRoomFor(name: string, counted: ReadonlyMap<string, number>): boolean {
  return counted.size < COUNTED_NAMES.count && jsonBytes([...counted.keys(), name]) <= COUNTED_NAMES.bytes;
}

/** Bytes of JSON of the newest error: the record has the whole of it. */
const LAST_ERROR_BYTES = 2_000;

/** Keeps an error for whoever looks at the run. */
export function noteError(state: RunState, message: string): void {
  state.lastError = cutText(message, LAST_ERROR_BYTES);
}
