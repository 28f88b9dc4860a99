import type { HookedCalls } from '../../domain/activity-messages.ts';
import type { AgentSnapshot } from '../../domain/agent.ts';
import { cutText, jsonBytes } from '../../domain/byte-budgets.ts';
import type { KeptAgent, RunningAgent } from '../../domain/children.ts';
import { defined } from '../../domain/defined.ts';
import type { ContextOperation } from '../../domain/deps.ts';
import type { CodeJournal } from '../../domain/execution.ts';
import { guardrailsOf } from '../../domain/guardrails.ts';
import type { HandoffState } from '../../domain/handoffs.ts';
import type { HookRecord } from '../../domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import type { RunLimits } from '../../domain/limits.ts';
import { givenEvents } from '../../domain/model.ts';
import type { Permissions } from '../../domain/permissions.ts';
import type { ProgramState } from '../../domain/program-run.ts';
import { addEvent, type Event, type ExecutionContext, incrementStep, newEvent, newExecutionContext } from '../../domain/record.ts';
import type { ParentRun, RunOpening } from '../../domain/run-input.ts';
import type { Archiving, NotArchived, Notice, Principal, RunStatus } from '../../domain/run.ts';
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
import { type AggregatedUsage, noUsage, type SpentByDescendants } from '../../domain/usage.ts';
import { emptyWindow, extendWindow, type Window, type WindowEvent } from '../../domain/window.ts';
import type { Approvals } from './approval-state.ts';

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
  /** The events that the archive is storing. Present only after the loop, before this execution ends. */
  archiving?: Archiving;
  /** The events of the run that are not in the archive, the oldest first: the newest ranges, up to 50. */
  notArchived?: NotArchived[];
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The turns, the limits and the amounts of a session. Absent for a run that ends with its answer. */
  session?: SessionState;
  /** The results of the turns that have ended in this execution. */
  turns?: TurnResultFields[];
  /** The run that started this one as its child. */
  parent?: ParentRun;
  /** The agents that run as children of tool calls. Absent if there are none. */
  children?: RunningAgent[];
  /** The agents that are kept between the calls of their tools. Absent if there are none. */
  kept?: KeptAgent[];
  /** The ids of those that have ended in the current step: its record will name them. Absent if there are none. */
  endedChildren?: string[];
  /** The amounts that descendants of this run have used. Absent if it has started none. */
  descendants?: SpentByDescendants;
  /** The permissions that were set while the run went on, instead of those of its agent. */
  permissions?: Permissions;
  /** The names of the skills that the model has loaded, in order. Absent if there are none. */
  loadedSkills?: string[];
  /** The units and steps, if the run is that of a program. */
  program?: ProgramState;
  /** The agents of the run, once it has been handed over. */
  handoffs?: HandoffState;
  /** The answers of the hooks at the start of the run. */
  hookRecords?: HookRecord[];
  /** The calls of the present response, while hooks review them in a separate activity. */
  hookedCalls?: HookedCalls;
  hookedResults?: { callId: string; content: JsonValue[] }[];
  /** Call id → the arguments that a hook gave to a call of the present response. */
  rewrites?: Record<string, JsonObject>;
  /** The code that the run has executed. Absent before its first cell. */
  code?: CodeState;
  /** The offset of the first message that no guardrail has checked. Absent: all are checked, or the agent has no guardrails for input. */
  uncheckedFrom?: number;
  /** The answer that guardrails are checking. Present only during the check. */
  pendingAnswer?: JsonValue;
  /** The next response is the first one for which the memory of the agent is asked. */
  recallDue?: true;
  /** Ids of the results in the last event, if activities produced all of them. */
  resultIds?: string[];
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
  if (guardrailsOf(state.snapshot, 'input').length > 0) state.uncheckedFrom = 0;
  beginRecall(state);
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
    ...defined({ hookRecords: snapshot.hookRecords }),
  };
}

/** Lets the next model call ask the memory, if the agent that acts recalls: at the start of a run, and with each new agent. */
export function beginRecall(state: RunState): void {
  if (state.snapshot.memory?.recall === undefined) delete state.recallDue;
  else state.recallDue = true;
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
  // Calls of code take their place in the record, and none in the window.
  state.window = extendWindow(state.window, recorded.caller === 'code' ? { ...recorded, content: [] } : recorded);
  delete state.resultIds;
}

/** Records what a person should know, in an event without content; none if there is nothing. */
export function recordNotices(state: RunState, clock: RunClock, notices: readonly Notice[] = []): void {
  if (notices.length > 0) recordEvent(state, clock, { author: state.snapshot.name, content: [], notices: [...notices] });
}

/** Returns an event of the window, or the event of the calls that code waits for. */
export function findEvent({ window, code }: Pick<RunState, 'window' | 'code'>, id: string): WindowEvent | undefined {
  return code?.calls?.id === id ? code.calls : window.events.findLast((event) => event.id === id);
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

// Shared state: the code of a run.

/** The code that a run has executed. Plain JSON: it is carried into the next execution as it is. */
export interface CodeState {
  journal: CodeJournal;
  /** Bytes of JSON of the journal. Counted as it grows, because computing them each time would take longer with each cell. */
  journalBytes: number;
  /** The local segments since the last remote activity, and the bytes that they and their calls produced. */
  localWork?: { bytes: number; segments: number };
  /** The event of the calls that the cell in progress waits for. */
  calls?: WindowEvent;
  /** The calls that code has made in this step. */
  records: ToolCallRecord[];
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
