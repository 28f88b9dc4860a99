import type { AgentSnapshot } from '../domain/agent.ts';
import type { ApprovalDeadline, DecidedCall, Decision, PendingApproval, RememberedDecision } from '../domain/approvals.ts';
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
  /** The units and steps, if the run is that of a program. */
  program?: ProgramState;
  /** Call id → the arguments that a gate gave to a call of the present response. */
  rewrites?: Record<string, JsonObject>;
  /** The calls that only the time holds back. Absent if there are none, and not carried: the next execution finds them again. */
  postponed?: PostponedCall[];
  /** Ids of the results in the last event, if activities produced all of them. */
  resultIds?: string[];
  /** The values that capabilities keep. */
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

/** The provider's token count for a window of some bytes. */
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
  const stamp = { id: event.id ?? clock.uuid({ after: state.window.lastEventId, content: event.content }), now: clock.now() };
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
  /** Returns a new id. `event`: the event that it is for, unless it is for something else. */
  uuid(event?: UnnamedEvent): string;
}

/** An event that has no id yet, and the id of the event before it. */
export interface UnnamedEvent {
  after: string;
  /** The id of a result may stand for it: results can be long, and their ids are made where they are. */
  content: readonly (ContentItem | string)[];
}

// Shared state: pending and past decisions.

/** The pending approvals of a run, and its decisions. */
export interface Approvals {
  /** The pending approvals, in the order of their requests. */
  pending: PendingApproval[];
  /** The approved calls of the current response, with their arguments if the approver edited them. */
  approved: ApprovedCall[];
  /** The newest decisions, the last one last. The record of events has all of them. */
  decided: DecidedCall[];
  /** Decisions that apply to further calls. */
  remembered: RememberedDecision[];
}

/** A call that was approved, and has no result yet. */
interface ApprovedCall {
  callId: string;
  arguments?: JsonObject;
}

/** Bytes of JSON of a reason that is kept in memory. */
const REASON_BYTES = 300;

/** Returns the deadline of a call that begins to wait `now`, and the decision that is applied then. */
export function deadlineOf({ deadlineMs, onDeadline }: ApprovalDeadline, now: number): Pick<PendingApproval, 'deadlineAt' | 'onDeadline'> {
  return deadlineMs === undefined ? {} : { deadlineAt: now + deadlineMs, onDeadline: onDeadline ?? 'reject' };
}

export function pendingOf({ pending }: Approvals, callId: string): PendingApproval | undefined {
  return pending.find((one) => one.callId === callId);
}

/** True for a call whose outcome a person is asked about. Such a call has started, in this execution or in an earlier one. */
export function isAskedAbout(pending: readonly PendingApproval[], toolCallId: string): boolean {
  return pending.some(({ kind, callId }) => kind === 'outcome' && callId === toolCallId);
}

/** Returns the decision about a call; the newest one if call ids repeat. */
export function decidedOf({ decided }: Approvals, callId: string): DecidedCall | undefined {
  return decided.findLast((one) => one.callId === callId);
}

/** Returns the newest remembered decision that applies to a call of the tool with that digest. A tool of the same name that another agent has is another tool. */
export function rememberedFor(
  { remembered }: Approvals,
  toolName: string,
  { digest, agent }: { digest: string; agent?: string | undefined },
): RememberedDecision | undefined {
  return remembered.findLast(
    (one) => one.toolName === toolName && one.agent === agent && (one.digest === undefined || one.digest === digest),
  );
}

/** Returns a decision without its content, and with a shortened reason. */
export function withoutContent({ arguments: _, content: __, ...decision }: Decision): DecidedCall {
  return decision.reason === undefined ? decision : { ...decision, reason: cutText(decision.reason, REASON_BYTES) };
}

/** Removes a remembered decision. Returns false if there is none with that id. */
export function revoke(approvals: Approvals, id: string): boolean {
  const left = approvals.remembered.filter((one) => one.id !== id);
  const isRevoked = left.length < approvals.remembered.length;
  approvals.remembered = left;
  return isRevoked;
}

// Shared state: the parts of it that capabilities own.

/** The slices of a run by their names. Plain JSON; a name is here only while its slice has a value. */
export type Slices = Record<string, unknown>;

/** What a slice can be part of: a run, or its carried state; its inbox; the outcome of a call. */
export interface WithSlices {
  slices?: Slices;
}

interface SliceOptions<Value> {
  /** Returns the value that a run begins with, by its agent. Undefined: none. */
  initial?(snapshot: AgentSnapshot): Value | undefined;
  /** The value exists only while the run cannot continue as new: it is not carried. */
  isPassing?: true;
  /** Returns the bytes of JSON that the value takes in the carried state. Absent: it is small, and in the reserve for small things. */
  bytes?(value: Value): number;
}

/** One value that a single capability reads and writes, in the state of a run, its inbox, or the outcome of a call. It carries over as it is. */
export class Slice<Value> {
  readonly name: string;
  /** The form of its value, by which tests check what is carried. */
  readonly shape: Shape<Value>;
  readonly options: SliceOptions<Value>;

  constructor(name: string, shape: Shape<Value>, options: SliceOptions<Value>) {
    this.name = name;
    this.shape = shape;
    this.options = options;
  }

  /** Returns the value; undefined if there is none. */
  of({ slices }: WithSlices): Value | undefined {
    return slices?.[this.name] as Value | undefined;
  }

  set({ slices }: Required<WithSlices>, value: Value): void {
    slices[this.name] = value;
  }

  /** Returns a copy with this value; the same without one. */
  addTo<Holder extends WithSlices>(holder: Holder, value: Value | undefined): Holder {
    return value === undefined ? holder : { ...holder, slices: { ...holder.slices, [this.name]: value } };
  }

  clear({ slices }: Required<WithSlices>): void {
    delete slices[this.name];
  }

  /** Returns the bytes that the value takes in the carried state, as far as they are counted. */
  bytesIn(run: WithSlices): number {
    const value = this.of(run);
    return value === undefined ? 0 : (this.options.bytes?.(value) ?? 0);
  }
}

/** Declares a slice. The one who declares it lists it in its capability, and keeps it to itself. */
export function slice<Value>(name: string, shape: Shape<Value>, options: SliceOptions<Value> = {}): Slice<Value> {
  return new Slice(name, shape, options);
}

/** The slices of all capabilities, in their order. Set once, when the capabilities are composed. */
let known: readonly Slice<unknown>[] | undefined;

/** Makes the slices of all capabilities known. Once in a process: a run has the same ones wherever it is read. */
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

/** Returns the slices that a run with this agent begins with. */
function initialSlices(snapshot: AgentSnapshot): Slices {
  const slices: Slices = {};
  for (const one of knownSlices()) {
    const value = one.options.initial?.(snapshot);
    if (value !== undefined) one.set({ slices }, value);
  }
  return slices;
}

/** Returns the slices that are carried into the next execution; no field if there are none. */
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

/** Returns the bytes that slices take in the carried state, as far as they are counted. */
export function sliceBytes(run: WithSlices): number {
  let bytes = 0;
  for (const one of knownSlices()) bytes += one.bytesIn(run);
  return bytes;
}

/** Returns why the slices of a carried state are not what capabilities write: their shapes are compared, and none may be unknown. */
export function slicesProblem({ slices = {} }: WithSlices): string | undefined {
  for (const [name, value] of Object.entries(slices)) {
    const shape = knownSlices().find((one) => one.name === name)?.shape;
    if (shape === undefined) return `it has an unknown slice "${name}"`;
    const problems = checkJson(shape, value);
    if (problems.length > 0) return `slice "${name}" does not fit: ${problemsText(problems)}`;
  }
  return undefined;
}
