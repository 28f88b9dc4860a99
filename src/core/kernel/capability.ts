import type { LimitChanges, LimitRaise } from '../domain/limits.ts';
import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalRequirement, PendingApproval } from '../domain/approvals.ts';
import type { ContentItem, ToolCall } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { NotRun, StepResult, ToolCallRecord } from '../domain/tool-calls.ts';
import type { WaitDeadline } from '../domain/time.ts';
import type { AggregatedUsage } from '../domain/usage.ts';
import type { StatusView } from '../domain/views.ts';
import type { WindowEvent } from '../domain/window.ts';
import type { CallPosition, CallsEnd, EndedCalls, Ending, NextStep, PhasePosition, ToolBatchContext, ToolsPosition } from './next-step.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from './ports.ts';
import type { RunState, Slice } from './run-state.ts';
import type { ParentInput } from '../domain/run-input.ts';
import type { NextTurnInput } from '../domain/requests.ts';

// Shared state: the points of the loop where capabilities act.

/** A tool of the run, or a tool run by the provider, of which only the name is known. */
export type NarrowedTool = Pick<ToolSnapshot, 'name'> & Partial<ToolSnapshot>;

/**
 * A feature of an agent that the loop does not know by name: rules for calls, checks, a memory. It acts at the points below; each is a
 * function that the loop calls in one place. A point must behave the same on replay, so it depends only on recorded data and its effects
 * are ports. A capability that the run does not use returns at once and without a promise, because in the sandbox a promise costs a stack
 * trace. `src/core/capabilities.ts` lists all capabilities; at each point they act in that order. `Ports`: its own effects and those of
 * every run; that file joins the ports of all capabilities.
 */
export interface Capability<Ports extends RunPorts = RunPorts> {
  name: string;
  /** Its values in a run's state, and the requests in the inbox that only it understands. Other code calls one of its functions. */
  slices?: readonly Slice<unknown>[];
  /** Its reasons to stop or change a call. */
  gates?: readonly Gate[];
  /** Its phases, by name, for calls that are not activities. */
  phases?: Readonly<Record<string, Phase<Ports>>>;

  // Before a step.

  /** Called when a step begins, before anything is taken from the inbox. Settles what a worker decides about. Never ends the run. */
  stepBegins?(state: RunState, ports: Ports): Promise<undefined> | undefined;
  /** Called before messages are recorded, the first of them at the end of the window. */
  messagesTaken?(state: RunState): void;
  /** True if messages stay queued until the limits have room for a step, so that those that no model would read are kept for later. */
  keepsMessages?(state: RunState): boolean;
  /**
   * Called when a raise of limits was taken from the inbox, before it is recorded. Applies the part of it that only this capability knows.
   */
  raiseTaken?(state: RunState, raise: LimitRaise): void;
  /** Called before limits are raised, by a caller or by the person who decides at a limit. */
  limitsRaised?(state: RunState): void;
  /**
   * Called after messages were taken, if the limits allow a model call. Returns, from the state alone, a step instead; the first counts.
   */
  insteadOfModelCall?(state: RunState, ports: Ports): NextStep | undefined;
  /** Called before the agent is asked. May let another agent act from here on. Returns the end of the run if that agent cannot act. */
  beforeAgentActs?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** Called before a window is reduced whose newest messages no model has read. Returns the end of the run if it must not be reduced. */
  beforeRoomIsMade?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** Makes room in a window that is larger than its limit. Returns the end of the run if that is not possible. */
  makesRoom?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** True for a result that is evicted from a window after all others. */
  isEvictedLast?(state: RunState, item: ContentItem): boolean;
  /** Returns the text at the end of a summary of the conversation, or an empty text. */
  endOfSummary?(state: RunState): string;

  // The model call.

  /** Returns fields of the request of a model call. */
  modelCallParts?(state: RunState, position: CallPosition): Partial<ModelCall>;
  /** Returns further fields of the input of a model call: the work that its activity does for the capability. */
  modelCallInput?(state: RunState, position: CallPosition): JsonObject;
  /**
   * Called before a model call is scheduled. Returns work that runs in the background: its port is called here, before the model's port.
   */
  duringModelCall?(state: RunState, ports: Ports): BesideModelCall | undefined;
  /** Shortens a conversation that the provider refused as too long; undefined if nothing can go. Returns the end of the run on failure. */
  shortens?(state: RunState, ports: Ports): Promise<'shortened' | NextStep | undefined> | undefined;
  /** Repairs the cause of a failed model call, other than its length, so that the call can be made again; undefined if it cannot. */
  repairs?(state: RunState, ports: Ports, failed: FailedModelCall): Promise<'repaired' | NextStep | undefined> | undefined;
  /** Called when an answer arrives, before it is recorded. May record events that belong before it, and returns the answer without them. */
  responseArrives?(state: RunState, ports: Ports, response: RecordedResponse): RecordedResponse;
  /** Returns fields of the event of an answer, or of the part of one that arrived. */
  answerParts?(state: RunState): Partial<Event>;
  /** Returns fields of the event of calls, or of an answer without calls, from the findings where they were made. Counts their cost. */
  madeParts?(state: RunState, made: MadeCalls): Partial<Event>;

  // The calls of an answer.

  /** Called when calls were made, before any of them reaches its gate. Returns the calls with further findings about them. */
  callsMade?(state: RunState, ports: Ports, position: ToolsPosition): Promise<ToolsPosition> | undefined;
  /** Called when calls were reviewed again. Returns fields of their response that combine the findings of both reviews. */
  callsReviewed?(response: RecordedResponse, review: Partial<RecordedResponse>): Partial<RecordedResponse>;
  /** Called before the calls reach the gate, and before waiting calls are decided. Takes the requests that affect them from the inbox. */
  gateOpens?(state: RunState, ports: Ports): void;
  /** Returns the reason why the run must not call a tool now, regardless of the arguments. */
  narrowsTool?(state: Pick<RunState, 'snapshot' | 'slices'>, tool: NarrowedTool): string | undefined;
  /** True if a run that this run waits for is waiting for a person. */
  waitsForPerson?(ports: Pick<RunPorts, 'inbox'>): boolean;
  /** Called when the run begins to wait for a decision, in this execution or again in the next one. */
  decisionAwaited?(state: RunState, ports: Ports, waiting: PendingApproval): void;
  /** True if the problem of a call is that it was refused, not that it is invalid. */
  refuses?(made: MadeCalls, call: ToolCall): boolean;
  /** True for a call that runs after all others of its response. */
  runsLast?(state: RunState, call: ToolCall): boolean;
  /**
   * Called when a call may start, after any decision about it. Returns the time until which it must wait nevertheless, later than `now`;
   * the first answer counts. Called again at that time, in the next execution, and whenever the run looks at its calls. Other calls do not
   * wait for it.
   */
  postpones?(state: RunState, now: number, invocation: ToolInvocation): WaitDeadline | undefined;
  /** Starts a call in another way than by the activity of its tool. Returns its outcome. */
  startsCall?(state: RunState, ports: Ports, invocation: ToolInvocation): Promise<ToolOutcome> | undefined;
  /** True for a call that counts against the limits already, because an earlier execution has started it. */
  hasStarted?(state: RunState, call: Pick<ToolInvocation, 'eventId' | 'index'>): boolean;
  /** Returns the runner of the calls of a response that may outlast this execution; undefined if the current agent has no tool for them. */
  longCalls?(state: RunState, ports: Ports): LongCalls | undefined;
  /** True if `afterResult` may act on the results of a tool: a promise is created only then. */
  awaitsResult?(state: RunState, tool: ToolSnapshot): boolean;
  /** Called when a started call has ended, before anything is recorded. Returns it with the outcome that counts. */
  afterResult?(state: RunState, ports: Ports, ended: EndedCall): Promise<EndedCall> | undefined;
  /** Returns the event of running calls that are not in the window. */
  eventBeside?(state: Pick<RunState, 'slices'>, id: string): WindowEvent | undefined;
  /** Called before the step is recorded. Returns the records of calls that are not in its answer, and forgets the data of this step. */
  recordsBeside?(state: RunState): readonly ToolCallRecord[];
  /** Returns a result with the notes that the model reads. */
  resultAsRead?(state: RunState, response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome;
  /** Called before a call is counted and enters the record of its step. */
  callRecorded?(state: RunState, call: ToolCall, record: ToolCallRecord): void;
  /** Called when the results of all calls are recorded. The first returned end is the end of the run, or its answer. */
  callsEnded?(called: EndedCalls): CallsEnd | undefined;
  /** Called when the calls of a step are over: the model is asked again, or the turn ends. */
  stepEnded?(state: RunState, ports: Ports, outcomes: readonly (ToolOutcome | null)[]): void;

  // The end of a turn, and of a run.

  /** True if an answer must be checked before it counts. */
  isAnswerChecked?(state: RunState): boolean;
  /** Checks an answer before it counts. Returns the end of the run if it must not count. */
  answerGiven?(state: RunState, ports: Ports, answer: JsonValue): Promise<NextStep | undefined> | undefined;
  /** Called when an answer counts and no message waits. True if the run continues after it: another agent acts next. */
  turnContinues?(state: RunState, answer: JsonValue): boolean;
  /** Returns an ending without the parts that must not be shown. */
  endingShown?(state: RunState, ending: Ending): Ending;

  // The end of an execution.

  /** Called before a step when the history is full. Makes the carried state as small as possible. */
  beforeContinuing?(state: RunState): void;
  /** False if the run must stay in this execution in the middle of a step, although its history is full. */
  mayContinue?(state: RunState): boolean;

  // Changes of the agent and of the turn.

  /** Called when a turn has ended, also in the middle of a step, and the run continues with the next message. */
  turnEnds?(state: RunState): void;
  /** Called when a turn begins. */
  turnBegins?(state: RunState): void;
  /** Called when the agent was read again between two turns and differs from `before`. */
  agentRefreshed?(state: RunState, before: AgentSnapshot): void;
  /** Called when another agent takes over the run. `isFirst`: it has not acted in the run before. */
  agentSwitched?(state: RunState, isFirst: boolean): void;
  /** Called when the conversation was emptied between two turns. */
  conversationCleared?(state: RunState): void;

  // What other runs receive from this one.

  /** Returns the rules that also apply to the runs that this run starts. */
  passesOn?(state: RunState): Partial<ParentInput>;
  /**
   * Returns the same for a run that was started earlier and is given another message, without the rules that have applied since its start.
   */
  passesOnLater?(state: RunState): Partial<NextTurnInput>;
  /** Takes the rules that the parent passes on with a message. True if they have changed the agent. */
  takesRules?(state: RunState, next: NextTurnInput): boolean;

  // What observers and callers see.

  /** Called when usage was added to the run's usage. Adds it to every other total where it counts. */
  spent?(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void;
  /** Returns the amounts that limits compare: includes what others have used for the run, and excludes what no limit covers. */
  withOthers?(state: RunState, used: UsedAmounts): UsedAmounts;
  /** Returns the share of another run's limits that this run was given: no raise exceeds it. */
  limitsGiven?(state: Pick<RunState, 'slices'>): GivenLimits | undefined;
  /** Returns count fields of the result of a run or of a turn. */
  countParts?(state: RunState): Partial<RunResultFields>;
  /** Returns the name of the current agent, or undefined if the run began with it: remembered decisions apply only to its tools. */
  laterAgent?(state: RunState): string | undefined;
  /** Returns fields of the status of a run. */
  statusParts?(state: RunState): Partial<StatusView>;
  /** Returns fields of a step, from the answer that it began with. */
  stepParts?(state: RunState, response: RecordedResponse): Partial<StepResult>;
  /** Returns fields of the record of a call. */
  recordParts?(response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): Partial<ToolCallRecord>;
  /** Returns fields of the result of a run, or of a turn. */
  resultParts?(state: RunState): Partial<RunResultFields>;
}

/** A model call that has failed. */
export interface FailedModelCall {
  code: ErrorCode;
  message: string;
}

/** Work that runs in the background during a model call. */
export interface BesideModelCall {
  /** Waits for the end of the work, once the model call has ended in any way. Records nothing, unless it returns the end of the run. */
  ended(outcome: ModelCallOutcome): Promise<AfterModelCall>;
}

/** `instead`: the call counts as given up, and its answer is not a step. `record`: records the result of the work, after the answer. */
export type AfterModelCall = { instead: NextStep } | { record(): void };

/** A call that has ended, and its outcome. */
export interface EndedCall {
  invocation: ToolInvocation;
  outcome: ToolOutcome;
}

/** The amounts that the limits of a run compare. */
export interface UsedAmounts {
  steps: number;
  usage: AggregatedUsage;
  toolCalls: number;
  toolCallsByName: ReadonlyMap<string, number>;
}

/** The share of a run's limits that another run was given. */
export interface GivenLimits {
  /** The id of the run that gave it. */
  by: string;
  most: LimitChanges;
}

// Tool phase: calls that may outlast an execution.

/** The calls of a response that have not started, with the one that starts now. */
export interface CallsLeft {
  all: number;
  /** The number of them that start an agent. */
  agents: number;
}

/** A call that continues: the next execution waits for it. */
export interface LeftCall {
  type: 'left';
}

/**
 * The calls of one response that do not prevent a run from continuing as new: calls that are still running are left to the next execution,
 * which waits for them from its beginning.
 */
export interface LongCalls {
  /** The number of them that this execution waits for. */
  readonly waiting: number;
  /** True if this execution has waited for one. */
  readonly hasWaited: boolean;
  /** True once they are left to the next execution. */
  readonly isLeaving: boolean;
  /** True for a tool whose calls may outlast an execution. */
  includes(tool: ToolSnapshot): boolean;
  /** True if an earlier execution has started the call. */
  isRunning(invocation: ToolInvocation): boolean;
  /** True if the call must wait until another one ends. */
  isHeldBack(invocation: ToolInvocation): boolean;
  /**
   * Starts the call, or waits for it if an earlier execution has started it. `left`: the calls that may still start, including this one.
   */
  run(invocation: ToolInvocation, left?: CallsLeft): Promise<ToolOutcome | LeftCall>;
  /** Leaves the running calls to the next execution. */
  leave(): void;
}

// Tool phase: the phases of a capability.

/**
 * Runs calls that are not activities, each after all other calls of its response, sequentially. It can make calls itself; these pass the
 * tool phase like a model's calls. Its position is plain data, so that the run can continue from it in another execution.
 */
export interface Phase<Ports extends RunPorts = RunPorts> {
  /** Who makes its calls, in the record. */
  caller: NonNullable<Event['caller']>;
  /** Returns the indexes of the calls of a response that this phase runs and that have no outcome yet. */
  pending(acting: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): readonly number[];
  /**
   * Runs the phase to its end, or until it makes calls. Returns the next position, among the calls of its response or among its own calls.
   */
  run(state: RunState, ports: Ports, position: PhasePosition): Promise<NextStep>;
  /** Records the outcomes of the calls that it has made, and returns its position, or the position after it. */
  callsEnded(acting: ToolBatchContext, ports: Ports, position: PhasePosition, outcomes: (ToolOutcome | null)[]): NextStep;
}

/** A call that runs in a separate phase: the name of the phase, and the index of the call in its response. */
export interface CallOfPhase {
  phase: string;
  index: number;
}

// Tool phase: the gates of a capability.

/**
 * Calls that are made together, and the findings about them where they were made: in the activity that asked the model or ran the code,
 * which also calls the user's functions, or in the step of a program.
 */
export type MadeCalls = Pick<RecordedResponse, 'content'> & Partial<RecordedResponse>;

/** A call that asks to start. */
export interface AskedCall {
  call: ToolCall;
  made: MadeCalls;
  /** The place of the call in the record, `event/index`: the digest of its decision, unless the requirement has another digest. */
  place: string;
  /** The call belongs to the attempt after the step limit. */
  final?: boolean;
  /** The calls are the last ones of the run. */
  isLast?: boolean;
  /** The limits have no room for the call. */
  hasNoRoom?: boolean;
  /** The call has passed the gates before: it waits for a decision, or an earlier execution has started it. */
  isBegun?: boolean;
}

/** A call at a gate, with its tool. Undefined for an answer and for a tool that does not exist. */
export interface GatedCall extends AskedCall {
  run: RunState;
  tool: ToolSnapshot | undefined;
}

/** A call that does not start, with the text for the model. */
export interface Denial {
  type: 'deny';
  reason: NotRun;
  text: string;
  /** Null for a call that was not examined, because nothing could start. */
  durationMs: 0 | null;
}

/** The answer of one gate. Undefined lets the call pass unchanged. */
export type GateAnswer =
  | Denial
  /** The call waits for a decision. */
  | { type: 'ask'; requirement: ApprovalRequirement }
  /** The call runs with other arguments, which later gates see. */
  | { type: 'change'; arguments: JsonObject }
  | undefined;

/** One reason to stop or change a call, decided from recorded data alone and without any effect. */
export interface Gate {
  name: string;
  /**
   * Its place in the order of all gates (`gatesInOrder`), which limits what it may do. `arguments`: changes the arguments before any rule
   * sees them. `rules`: denies a call of an existing tool, or requires a decision, before the limits count the call.
   */
  place: 'arguments' | 'rules';
  /** Its answer may change while a call waits: it is checked again once the call is approved, and then only a denial counts. */
  again?: true;
  check(call: GatedCall): GateAnswer;
}

export function deny(reason: NotRun, text: string, durationMs: 0 | null = 0): Denial {
  return { type: 'deny', reason, text, durationMs };
}
