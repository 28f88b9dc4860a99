import type { AgentSnapshot } from '../domain/agent.ts';
import { type Approvals, noApprovals } from '../domain/approvals.ts';
import { cutText, jsonBytes } from '../domain/byte-budgets.ts';
import type { ChangesSoFar } from '../domain/changes.ts';
import type { ContentItem } from '../domain/content.ts';
import type { JsonObject } from '../domain/json.ts';
import type { RunLimits } from '../domain/limits.ts';
import { givenEvents } from '../domain/model.ts';
import type { ProgramState } from '../domain/program-run.ts';
import { addEvent, type Event, type ExecutionContext, incrementStep, newEvent, newExecutionContext } from '../domain/record.ts';
import type { RunOpening } from '../domain/run-input.ts';
import type { Notice, Principal, RunStatus } from '../domain/run.ts';
import type { Shape } from '../domain/shape.ts';
import { isoTime } from '../domain/time.ts';
import { addNotRun, type CallsNotRun, type FinishReason, type NotRun, type StepResult, type ToolCallRecord } from '../domain/tool-calls.ts';
import { type AggregatedUsage, noUsage } from '../domain/usage.ts';
import type { PostponedCall } from '../domain/views.ts';
import { emptyWindow, extendWindow, type Window } from '../domain/window.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';

// Shared state: the run, and its record.

/** The state of a run: one plain object, owned and changed only by the loop. */
export interface RunState {
  runId: string;
  /** The current agent. */
  snapshot: AgentSnapshot;
  /** The current deps of the run. */
  deps: JsonObject;
  /** The changes of deps and state by calls in this execution. Absent if there are none. */
  changes?: ChangesSoFar;
  /** The context of the run. Its `events` contain only this execution's events. */
  context: ExecutionContext;
  /** Offset of the first event of `context`: 0 until the run continues as new. */
  firstOffset: number;
  /** The id of the event before the first one. Absent until the run continues as new. */
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
  /** The partial text of an answer that was given up since the last step. */
  partial?: string;
  usage: AggregatedUsage;
  /** The provider's token count for the window of the last response. The tokens of later windows are estimated from it. */
  measured?: MeasuredWindow;
  /** The number of calls that tools executed. */
  toolCallsTotal: number;
  /** The same by tool name, in the order of first use. A map, because tools can have names such as `__proto__`. */
  toolCallsByName: Map<string, number>;
  /** The calls that did not run. Absent if all calls ran. */
  toolCallsNotRun?: CallsNotRun;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The number of structured answers so far that did not fit the schema. */
  outputRetries: number;
  /** The number of events that the model has seen. */
  seenEvents: number;
  approvals: Approvals;
  /** The current limits: the snapshot's until a caller raises them. */
  limits: RunLimits;
  /** The number of tool calls that have started, by tool name: limits count these. */
  toolCallsStarted: Map<string, number>;
  /** The number of consecutive times that a tool has asked the model to try again, by tool name. */
  modelRetries: Map<string, number>;
  /** The newest error of a tool, an activity or a request. */
  lastError?: string;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The units and steps, if the run executes a program. */
  program?: ProgramState;
  /** Call id → the arguments that a gate gave to a call of the current response. */
  rewrites?: Record<string, JsonObject>;
  /** The calls that are postponed only by the time. Absent if there are none, and not carried over: the next execution finds them again. */
  postponed?: PostponedCall[];
  /** Ids of the results in the last event, if activities produced all of them. */
  resultIds?: string[];
  /** The values of capabilities. */
  slices: Slices;
}

/** The phase of a step: `model` during a model call, `tools` during the calls of its response, `between` before the next step. */
type Phase = 'between' | 'model' | 'tools';

/** The part of the last step that an ending needs. */
interface LastStep {
  thought: string | null;
  final: boolean;
  finishReason?: FinishReason;
}

/** The provider's token count for a window with this many bytes that count as tokens (`windowText`). */
interface MeasuredWindow {
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

/** Returns the initial state of a run, with its agent and its initial conversation. */
export function newRunState({ input, messages = [], ...beginning }: RunBeginning, clock: RunClock): RunState {
  const state = blankRunState(beginning);
  const timestamp = isoTime(beginning.startedAt);
  for (const event of givenEvents(messages, beginning.snapshot.name)) recordEvent(state, clock, { ...event, timestamp, given: true });
  if (input !== undefined) {
    recordEvent(state, clock, { author: 'user', content: [{ type: 'message', role: 'user', content: input }], timestamp });
  }
  return state;
}

/** Returns the state of a run without any record. */
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

/** Appends an event. An event without an id gets one from the workflow, so that a reset run cannot repeat the id with other content. */
export function recordEvent(state: RunState, clock: RunClock, event: Pick<Event, 'author' | 'content'> & Partial<Event>): void {
  const { executionId } = state.context;
  const stamp = { id: event.id ?? clock.uuid({ after: state.window.lastEventId, content: event.content }), now: clock.now() };
  const recorded = { ...newEvent(stamp, executionId, event.author), ...event };
  addEvent(state.context, recorded);
  // Calls that no model made are in the record but not in the window.
  state.window = extendWindow(state.window, recorded.caller !== undefined ? { ...recorded, content: [] } : recorded);
  delete state.resultIds;
}

/** Records notices for people in one event without content. Records nothing if there are no notices. */
export function recordNotices(state: RunState, clock: RunClock, notices: readonly Notice[] = []): void {
  if (notices.length > 0) recordEvent(state, clock, { author: state.snapshot.name, content: [], notices: [...notices] });
}

/** Appends a step and begins the next. */
export function recordStep(state: RunState, step: Omit<StepResult, 'step'>): void {
  state.steps.push({ step: state.context.currentStep + 1, ...step });
  state.lastStep = { thought: step.thought, final: step.final ?? false, finishReason: step.finishReason };
  if (step.thought !== null) state.thought = step.thought;
  delete state.partial;
  state.phase = 'between';
  incrementStep(state.context);
}

/** The maximum number of tool names that a run counts separately, and their maximum bytes of JSON. All of them are carried over. */
const COUNTED_NAMES = { count: 300, bytes: 24_000 };

/** The name under which calls of all other tools are counted. */
const OTHER_NAMES = '(other)';

/** Counts a tool call: one that was executed, whether successful or not, or one that did not run. */
export function countToolCall(state: RunState, { toolName, notRun }: Pick<ToolCallRecord, 'toolName' | 'notRun'>): void {
  if (notRun === undefined) countToolCalls(state, toolName, 1);
  else countNotRun(state, notRun, toolName);
}

/** The maximum number of names that are counted separately for each reason not to run, and their maximum bytes of JSON. */
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

/** Bytes of JSON of the newest error in the state. The record contains the whole error. */
const LAST_ERROR_BYTES = 2_000;

/** Stores an error as the newest one, for views of the run. */
export function noteError(state: RunState, message: string): void {
  state.lastError = cutText(message, LAST_ERROR_BYTES);
}

// Shared state: time and ids.

/** The ports for time and ids. In a workflow, both are deterministic. */
export interface RunClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Returns a new id. `event`: the event that the id is for, if it is for an event. */
  uuid(event?: UnnamedEvent): string;
}

/** An event that has no id yet, and the id of the event before it. */
export interface UnnamedEvent {
  after: string;
  /** The id of a result may replace the result: results can be long, and their ids are created where the results are. */
  content: readonly (ContentItem | string)[];
}

// Shared state: the parts of the state that capabilities own.

/** The slices of a run by name. Plain JSON; a name is present only while its slice has a value. */
export type Slices = Record<string, unknown>;

/** A holder of slices: a run or its carried state, its inbox, or the outcome of a call. */
export interface WithSlices {
  slices?: Slices;
}

interface SliceOptions<Value> {
  /** Returns the initial value for a run of this agent, or undefined for none. */
  initial?(snapshot: AgentSnapshot): Value | undefined;
  /** The value exists only while the run cannot continue as new, so it is not carried over. */
  isPassing?: true;
  /** Returns the bytes of JSON of the value in the carried state. Absent for a small value, which the general reserve covers. */
  bytes?(value: Value): number;
}

/**
 * A value that one capability reads and writes, in the state of a run, its inbox, or the outcome of a call. It is carried over unchanged.
 */
export class Slice<Value> {
  readonly name: string;
  /** The shape of its value, used to check carried states. */
  readonly shape: Shape<Value>;
  readonly options: SliceOptions<Value>;

  constructor(name: string, shape: Shape<Value>, options: SliceOptions<Value>) {
    this.name = name;
    this.shape = shape;
    this.options = options;
  }

  /** Returns the value, or undefined. */
  of({ slices }: WithSlices): Value | undefined {
    return slices?.[this.name] as Value | undefined;
  }

  set({ slices }: Required<WithSlices>, value: Value): void {
    slices[this.name] = value;
  }

  /** Returns a copy with this value, or the same holder if there is no value. */
  addTo<Holder extends WithSlices>(holder: Holder, value: Value | undefined): Holder {
    return value === undefined ? holder : { ...holder, slices: { ...holder.slices, [this.name]: value } };
  }

  clear({ slices }: Required<WithSlices>): void {
    delete slices[this.name];
  }

  /** Returns the counted bytes of the value in the carried state. */
  bytesIn(run: WithSlices): number {
    const value = this.of(run);
    return value === undefined ? 0 : (this.options.bytes?.(value) ?? 0);
  }
}

/** Declares a slice. The declaring capability lists it among its slices, and no other code reads or writes it. */
export function slice<Value>(name: string, shape: Shape<Value>, options: SliceOptions<Value> = {}): Slice<Value> {
  return new Slice(name, shape, options);
}

/** The slices of all capabilities, in order. Set once, when the capabilities are composed. */
let known: readonly Slice<unknown>[] | undefined;

/** Registers the slices of all capabilities. Called once per process: a run has the same slices wherever it is read. */
export function declareSlices(slices: readonly Slice<unknown>[]): void {
  const twice = slices.find(({ name }, index) => slices.findIndex((one) => one.name === name) !== index);
  if (twice !== undefined) throw new TypeError(`Two slices have the name "${twice.name}"`);
  known = slices;
}

/** Returns the slices of all capabilities. Throws if none are composed: a run would silently lack them. */
function knownSlices(): readonly Slice<unknown>[] {
  if (known === undefined) throw new TypeError('No capabilities are composed: import "src/core/capabilities.ts" before a run begins');
  return known;
}

/** Returns the initial slices of a run with this agent. */
function initialSlices(snapshot: AgentSnapshot): Slices {
  const slices: Slices = {};
  for (const one of knownSlices()) {
    const value = one.options.initial?.(snapshot);
    if (value !== undefined) one.set({ slices }, value);
  }
  return slices;
}

/** Returns the slices that are carried into the next execution, or no field if there are none. */
export function carriedSlices(run: WithSlices): WithSlices {
  const slices: Slices = {};
  for (const one of knownSlices()) {
    const value = one.options.isPassing ? undefined : one.of(run);
    if (value !== undefined) one.set({ slices }, value);
  }
  return Object.keys(slices).length === 0 ? {} : { slices };
}

/** Returns the slices of a carried state. */
export function resumedSlices({ slices = {} }: WithSlices): Slices {
  return { ...slices };
}

/** Returns the counted bytes of slices in the carried state. */
export function sliceBytes(run: WithSlices): number {
  let bytes = 0;
  for (const one of knownSlices()) bytes += one.bytesIn(run);
  return bytes;
}

/** Returns why the slices of a carried state are invalid, or undefined: a slice is unknown, or a value does not fit its shape. */
export function slicesProblem({ slices = {} }: WithSlices): string | undefined {
  for (const [name, value] of Object.entries(slices)) {
    const shape = knownSlices().find((one) => one.name === name)?.shape;
    if (shape === undefined) return `it has an unknown slice "${name}"`;
    const problems = checkJson(shape, value);
    if (problems.length > 0) return `slice "${name}" does not fit: ${problemsText(problems)}`;
  }
  return undefined;
}
