import type { AgentSnapshot } from '../../domain/agent.ts';
import { cutText, jsonBytes } from '../../domain/byte-budgets.ts';
import type { ContextOperation } from '../../domain/deps.ts';
import { isJsonObject, type JsonObject } from '../../domain/json.ts';
import type { RunLimits } from '../../domain/limits.ts';
import { givenEvents } from '../../domain/model.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import { addEvent, type Event, type ExecutionContext, incrementStep, newEvent, newExecutionContext } from '../../domain/record.ts';
import type { ParentRun, RunOpening } from '../../domain/run-input.ts';
import type { Notice, Principal, RunStatus } from '../../domain/run.ts';
import type { SessionState, TurnResultFields } from '../../domain/sessions.ts';
import { isoTime } from '../../domain/time.ts';
import {
  addNotRun,
  type CallsNotRun,
  type FinishReason,
  type NotRun,
  type StepResult,
  type ToolCallRecord,
} from '../../domain/tool-calls.ts';
import { type AggregatedUsage, noUsage } from '../../domain/usage.ts';
import { emptyWindow, extendWindow, type Window } from '../../domain/window.ts';
import type { Approvals } from './approval-state.ts';
import { initialSlices, type Slices } from './slices.ts';

// Shared state: the run, and its record.

/** The state of a run: one plain object, owned and changed by the loop alone. */
export interface RunState {
  runId: string;
  /** The agent that acts. */
  snapshot: AgentSnapshot;
  /** The current deps of the run. */
  deps: JsonObject;
  /** The changes that calls have made to deps and state in this execution. Absent if there are none. */
  changes?: ChangesSoFar;
  /** The context of the run. Its `events` are those of this execution only. */
  context: ExecutionContext;
  /** Offset of the first event of `context`: 0 until the run continues as new. */
  firstOffset: number;
  /** The id of the event before that one. Absent until the run continues as new. */
  carriedEventId?: string;
  /** The part of the conversation that the model sees, including events of earlier executions. */
  window: Window;
  status: RunStatus;
  /** The phase of the current step. */
  phase: Phase;
  /** The steps recorded in this execution. */
  steps: StepResult[];
  /** The last step, of this execution or an earlier one. */
  lastStep?: LastStep;
  /** The last text of the model in a step, or an empty text. */
  thought: string;
  /** The part that had arrived of an answer given up since the last step. */
  partial?: string;
  usage: AggregatedUsage;
  /** The provider's token count for the window of the last response. The tokens of later windows are estimated from it. */
  measured?: MeasuredWindow;
  /** The calls that tools executed. */
  toolCallsTotal: number;
  /** The same by the name of the tool, in the order of first use. It is a map, because names such as `__proto__` exist. */
  toolCallsByName: Map<string, number>;
  /** The calls that did not run. Absent if all have run. */
  toolCallsNotRun?: CallsNotRun;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The number of structured answers so far that did not fit. */
  outputRetries: number;
  /** The number of events that the model has seen. */
  seenEvents: number;
  approvals: Approvals;
  /** The current limits: those of the snapshot until a caller raises them. */
  limits: RunLimits;
  /** The number of tool calls that have started, by the name of the tool: limits count these. */
  toolCallsStarted: Map<string, number>;
  /** The number of consecutive times that calls of a tool have asked the model to try again, by the name of the tool. */
  modelRetries: Map<string, number>;
  /** The newest error of a tool, an activity or a request. */
  lastError?: string;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The turns, the limits and the amounts of a session. Absent for a run that ends with its answer. */
  session?: SessionState;
  /** The results of the turns that have ended in this execution. */
  turns?: TurnResultFields[];
  /** The run that started this one as its child. */
  parent?: ParentRun;
  /** The units and steps, if the run is that of a program. */
  program?: ProgramState;
  /** Call id → the arguments that a gate gave to a call of the present response. */
  rewrites?: Record<string, JsonObject>;
  /** Ids of the results in the last event, if activities produced all of them. */
  resultIds?: string[];
  /** The values that capabilities keep. */
  slices: Slices;
}

/** The phase of a step: `model` during a model call, `tools` during the calls of its response, `between` before the next step. */
type Phase = 'between' | 'model' | 'tools';

/** The part of the last step that an ending needs. */
export interface LastStep {
  thought: string | null;
  final: boolean;
  finishReason?: FinishReason;
}

/** The provider's token count for a window of some bytes. */
export interface MeasuredWindow {
  tokens: number;
  bytes: number;
}

type RunBeginning = RunOpening & {
  runId: string;
  snapshot: AgentSnapshot;
  deps?: JsonObject | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
};

/** Returns the state of a run with its agent and the conversation that it begins with. */
export function newRunState({ input, messages = [], ...beginning }: RunBeginning, clock: RunClock): RunState {
  const state = blankRunState(beginning);
  const timestamp = isoTime(beginning.startedAt);
  for (const event of givenEvents(messages, beginning.snapshot.name)) recordEvent(state, clock, { ...event, timestamp, given: true });
  if (input !== undefined) {
    recordEvent(state, clock, { author: 'user', content: [{ type: 'message', role: 'user', content: input }], timestamp });
  }
  return state;
}

/** Returns the state of a run that has recorded nothing. */
export function blankRunState({ runId, snapshot, deps = {}, startedAt }: Omit<RunBeginning, 'input' | 'messages'>): RunState {
  return {
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
    slices: initialSlices(snapshot),
  };
}

/** Returns the approvals of a run that has requested none. */
export function noApprovals(): Approvals {
  return { pending: [], approved: [], decided: [], remembered: [] };
}

/** Appends an event. If it has no id yet, it gets one from the workflow, so that a reset run cannot repeat the id with other content. */
export function recordEvent(state: RunState, clock: RunClock, event: Pick<Event, 'author' | 'content'> & Partial<Event>): void {
  const { executionId } = state.context;
  const stamp = { id: event.id ?? clock.uuid(), now: clock.now() };
  const recorded = { ...newEvent(stamp, executionId, event.author), ...event };
  addEvent(state.context, recorded);
  // Calls that no model made take their place in the record, and none in the window.
  state.window = extendWindow(state.window, recorded.caller !== undefined ? { ...recorded, content: [] } : recorded);
  delete state.resultIds;
}

/** Records what a person should know, in an event without content; none if there is nothing. */
export function recordNotices(state: RunState, clock: RunClock, notices: readonly Notice[] = []): void {
  if (notices.length > 0) recordEvent(state, clock, { author: state.snapshot.name, content: [], notices: [...notices] });
}

/** Appends a step and moves on to the next. */
export function recordStep(state: RunState, step: Omit<StepResult, 'step'>): void {
  state.steps.push({ step: state.context.currentStep + 1, ...step });
  state.lastStep = { thought: step.thought, final: step.final ?? false, finishReason: step.finishReason };
  if (step.thought !== null) state.thought = step.thought;
  delete state.partial;
  state.phase = 'between';
  incrementStep(state.context);
}

/** The most names of tools that a run counts separately, and their bytes of JSON. All of them are carried over. */
const COUNTED_NAMES = { count: 300, bytes: 24_000 };

/** The name under which calls by further names are counted. */
const OTHER_NAMES = '(other)';

/** Counts a tool call: one that was executed, successful or not, or one that did not run. */
export function countToolCall(state: RunState, { toolName, notRun }: Pick<ToolCallRecord, 'toolName' | 'notRun'>): void {
  if (notRun === undefined) countToolCalls(state, toolName, 1);
  else countNotRun(state, notRun, toolName);
}

/** The most names that are counted separately for each reason not to run, and their bytes of JSON. */
const NOT_RUN_NAMES = { count: 30, bytes: 2_000 };

function countNotRun(state: RunState, reason: NotRun, toolName: string): void {
  const counted = Object.keys(state.toolCallsNotRun?.[reason] ?? {});
  const name = counted.includes(toolName) || hasRoomFor(toolName, counted, NOT_RUN_NAMES) ? toolName : OTHER_NAMES;
  state.toolCallsNotRun = addNotRun(state.toolCallsNotRun, { [reason]: Object.fromEntries([[name, 1]]) }) ?? {};
}

/** Counts calls of a tool, and returns the name under which they are counted. */
export function countToolCalls(state: RunState, toolName: string, calls: number): string {
  const { toolCallsByName } = state;
  const name = toolCallsByName.has(toolName) || hasRoomFor(toolName, [...toolCallsByName.keys()], COUNTED_NAMES) ? toolName : OTHER_NAMES;
  state.toolCallsTotal += calls;
  toolCallsByName.set(name, (toolCallsByName.get(name) ?? 0) + calls);
  return name;
}

function hasRoomFor(name: string, counted: readonly string[], most: { count: number; bytes: number }): boolean {
  return counted.length < most.count && jsonBytes([...counted, name]) <= most.bytes;
}

/** Bytes of JSON of the newest error in the state. The record has the whole error. */
const LAST_ERROR_BYTES = 2_000;

/** Stores an error as the newest one, which views of the run show. */
export function noteError(state: RunState, message: string): void {
  state.lastError = cutText(message, LAST_ERROR_BYTES);
}

// Shared state: time and ids.

/** The ports for time and ids. In a workflow, both are deterministic. */
export interface RunClock {
  /** Milliseconds since the epoch. */
  now(): number;
  uuid(): string;
}

// Tool phase: the changes that other calls made while a call was running.

/** The changes of deps and state in this execution. */
interface ChangesSoFar {
  count: number;
  /** The path of each place that was changed, as JSON, and the number of its last change. */
  last: Map<string, number>;
}

/** The part of a run that calls change. */
interface ChangedRun {
  deps: JsonObject;
  changes?: ChangesSoFar;
}

/** What a call changes. */
interface Changes {
  state?: JsonObject;
  contextUpdate?: ContextOperation[];
}

/** A place in the deps or the state: `deps` or `state`, the key, and the keys below it. */
type Path = string[];

/** Returns the number of changes so far. A call that starts now has seen all of them. */
export function changesSoFar({ changes }: Pick<ChangedRun, 'changes'>): number {
  return changes?.count ?? 0;
}

/**
 * Returns the key of a change that would undo one which the call has not seen, because another call made it meanwhile. An element
 * that is appended to a list undoes nothing, and nor does an object that is merged beside other keys.
 */
export function undoneKey({ changes, deps }: ChangedRun, made: Changes, seen: number): string | undefined {
  if (changes === undefined || changes.count === seen) return undefined;
  const unseen = [...changes.last].flatMap(([path, number]) => (number > seen ? [JSON.parse(path) as Path] : []));
  const undone = placesOf(made).find(
    ({ path, op }) =>
      op !== 'append' &&
      !(op === 'delete' && !Object.hasOwn(deps, path[1] ?? '')) &&
      unseen.some((other) => other.every((key, index) => index >= path.length || key === path[index])),
  );
  return undone?.path[1];
}

export function noteChanges(state: ChangedRun, made: Changes): void {
  const places = placesOf(made);
  if (places.length === 0) return;
  const changes = (state.changes ??= { count: 0, last: new Map() });
  changes.count += 1;
  for (const { path } of places) changes.last.set(JSON.stringify(path), changes.count);
}

interface Place {
  op: ContextOperation['op'];
  path: Path;
}

function placesOf({ state = {}, contextUpdate = [] }: Changes): Place[] {
  return [
    ...Object.keys(state).map((key) => ({ op: 'set' as const, path: ['state', key] })),
    ...contextUpdate.flatMap((operation): Place[] => {
      const { op, key } = operation;
      return op === 'merge' ? leavesOf(['deps', key], operation.value).map((path) => ({ op, path })) : [{ op, path: ['deps', key] }];
    }),
  ];
}

/** Returns the places that a merge changes: the values that are no objects, and the empty objects. */
function leavesOf(path: Path, value: JsonObject): Path[] {
  const entries = Object.entries(value);
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => (isJsonObject(inner) ? leavesOf([...path, key], inner) : [[...path, key]]));
}
