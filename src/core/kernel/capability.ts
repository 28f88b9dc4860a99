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

// Shared state: the points of the loop at which capabilities act.

/** A tool of the run, or one that the provider runs, of which the name alone is known. */
export type NarrowedTool = Pick<ToolSnapshot, 'name'> & Partial<ToolSnapshot>;

/**
 * Something that an agent can have and the loop does not know by name: rules for calls, checks, a memory. It acts at the points below,
 * each a function that the loop calls at one place. What a point does on replay is what it did the first time: it follows from recorded
 * data, and its effects are ports. A capability that the run does not use returns at once, without a promise: one costs a stack trace
 * in the sandbox. `src/core/capabilities.ts` lists all of them; at each point they act in that order. `Ports`: its
 * effects, with those of every run; that file joins them for those who make ports.
 */
export interface Capability<Ports extends RunPorts = RunPorts> {
  name: string;
  /**
   * Its values in the state of a run, and the requests in its inbox that only it knows. Nobody else reads them: who asks about them calls
   * a function of the capability.
   */
  slices?: readonly Slice<unknown>[];
  /** Its reasons to stop or to change a call. */
  gates?: readonly Gate[];
  /** Its phases for calls that are no activities, by their names. */
  phases?: Readonly<Record<string, Phase<Ports>>>;

  // Before a step.

  /** A step begins, and nothing of the inbox has been taken. Settles requests that a worker decides about. Never ends the run. */
  stepBegins?(state: RunState, ports: Ports): Promise<undefined> | undefined;
  /** Messages are about to be recorded, the first at the end of the window. */
  messagesTaken?(state: RunState): void;
  /** True if messages wait, once a run has its limits: those that no model would read any more are kept for later. */
  keepsMessages?(state: RunState): boolean;
  /** A raise of limits was taken from the inbox, and is about to be recorded: applies the part of it that is no limit of every run. */
  raiseTaken?(state: RunState, raise: LimitRaise): void;
  /** Limits are about to be raised: by a caller, or by who decides at a limit. */
  limitsRaised?(state: RunState): void;
  /** A model call would be next: messages were taken, and the limits have room for a step. Returns what takes its place, by the state alone; the first one counts. */
  insteadOfModelCall?(state: RunState, ports: Ports): NextStep | undefined;
  /** The agent is about to be asked: another one may act in its place from here on. Returns the end of the run if that agent cannot. */
  beforeAgentActs?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** The window is about to be made smaller, although no model has read its newest messages. Returns the end of the run if it must not be. */
  beforeRoomIsMade?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** The window is larger than its limit: makes room in it. Returns the end of the run if that is not possible. */
  makesRoom?(state: RunState, ports: Ports): Promise<NextStep | undefined> | undefined;
  /** True for a result that is taken out of a window after all others. */
  isEvictedLast?(state: RunState, item: ContentItem): boolean;
  /** Returns the text that a summary of the conversation ends with; an empty text if there is none. */
  endOfSummary?(state: RunState): string;

  // The model call.

  /** Returns fields of the request of a model call. */
  modelCallParts?(state: RunState, position: CallPosition): Partial<ModelCall>;
  /** Returns further fields of the input of a model call: what its activity is to do for the capability. */
  modelCallInput?(state: RunState, position: CallPosition): JsonObject;
  /** A model call is about to be scheduled. Returns what is to run beside it: its port is called here, before the port of the model. */
  duringModelCall?(state: RunState, ports: Ports): BesideModelCall | undefined;
  /** The provider has refused a conversation as too long. Shortens it; undefined if nothing can be taken out. Returns the end of the run if that fails. */
  shortens?(state: RunState, ports: Ports): Promise<'shortened' | NextStep | undefined> | undefined;
  /** A model call has failed, and was not too long. Changes what it failed for, so that it can be made again; undefined if that does not help. */
  repairs?(state: RunState, ports: Ports, failed: FailedModelCall): Promise<'repaired' | NextStep | undefined> | undefined;
  /** An answer has come, and is not recorded yet. May record what belongs before it, and returns the answer without that. */
  responseArrives?(state: RunState, ports: Ports, response: RecordedResponse): RecordedResponse;
  /** Returns fields of the event of an answer, or of the part of one that arrived. */
  answerParts?(state: RunState): Partial<Event>;
  /** Returns fields of the event of calls, or of an answer without any, by what was found out where they were made. Counts the cost of that. */
  madeParts?(state: RunState, made: MadeCalls): Partial<Event>;

  // The calls of an answer.

  /** Calls were made, and none has passed its gate. Returns the calls with what was found out about them. */
  callsMade?(state: RunState, ports: Ports, position: ToolsPosition): Promise<ToolsPosition> | undefined;
  /** Calls were reviewed once more. Returns fields of their response, with what both reviews found. */
  callsReviewed?(response: RecordedResponse, review: Partial<RecordedResponse>): Partial<RecordedResponse>;
  /** The calls are about to be asked at the gate; also before waiting calls are decided about. Takes requests that hold for them from the inbox. */
  gateOpens?(state: RunState, ports: Ports): void;
  /** Returns the reason why the run must not call a tool now, whatever its arguments. */
  narrowsTool?(state: Pick<RunState, 'snapshot' | 'slices'>, tool: NarrowedTool): string | undefined;
  /** True if something that the run waits for waits for a person. */
  waitsForPerson?(ports: Pick<RunPorts, 'inbox'>): boolean;
  /** A decision begins to be waited for, in this execution or again in the next one. */
  decisionAwaited?(state: RunState, ports: Ports, waiting: PendingApproval): void;
  /** True if the problem of a call is that it was refused, and not that it is invalid. */
  refuses?(made: MadeCalls, call: ToolCall): boolean;
  /** True for a call that runs after all others of its response. */
  runsLast?(state: RunState, call: ToolCall): boolean;
  /**
   * A call may start: nobody has to decide about it any more. Returns until when it waits all the same, later than `now`; the first answer
   * counts. Asked again then, in the next execution, and whenever the run looks at its calls. Calls that are not postponed do not wait for it.
   */
  postpones?(state: RunState, now: number, invocation: ToolInvocation): WaitDeadline | undefined;
  /** A call starts, in another way than by the activity of its tool. Returns its outcome. */
  startsCall?(state: RunState, ports: Ports, invocation: ToolInvocation): Promise<ToolOutcome> | undefined;
  /** True for a call that counts against the limits already: an earlier execution has started it. */
  hasStarted?(state: RunState, invocation: ToolInvocation): boolean;
  /** Returns what runs those calls of a response that may outlast this execution; undefined if the agent that acts has no tool for them. */
  longCalls?(state: RunState, ports: Ports): LongCalls | undefined;
  /** True if `afterResult` may act on the results of a tool: only then a promise is made for it. */
  awaitsResult?(state: RunState, tool: ToolSnapshot): boolean;
  /** A call that was started has ended, and nothing is recorded. Returns it with the outcome that counts. */
  afterResult?(state: RunState, ports: Ports, ended: EndedCall): Promise<EndedCall> | undefined;
  /** Returns the event of calls that are not in the window, while they run. */
  eventBeside?(state: Pick<RunState, 'slices'>, id: string): WindowEvent | undefined;
  /** The step is about to be recorded, and what is known of it alone is forgotten. Returns the records of calls in it that its answer does not have. */
  recordsBeside?(state: RunState): readonly ToolCallRecord[];
  /** Returns a result as the model reads it. */
  resultAsRead?(response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome;
  /** A call is about to be counted and to enter the record of its step. */
  callRecorded?(state: RunState, call: ToolCall, record: ToolCallRecord): void;
  /** The results of all calls are recorded. The first end that is returned is that of the run, or its answer. */
  callsEnded?(called: EndedCalls): CallsEnd | undefined;
  /** The step is over, and the model will be asked again. */
  stepEnded?(state: RunState, ports: Ports, outcomes: readonly (ToolOutcome | null)[]): void;

  // The end of a turn, and of a run.

  /** True if an answer must be checked before it counts. */
  isAnswerChecked?(state: RunState): boolean;
  /** Checks an answer before it counts. Returns the end of the run if it must not count. */
  answerGiven?(state: RunState, ports: Ports, answer: JsonValue): Promise<NextStep | undefined> | undefined;
  /** An answer counts, and no message waits. True if the run continues after it: the answer is that of one agent among others. */
  turnContinues?(state: RunState, answer: JsonValue): boolean;
  /** Returns an ending without what must not be shown of it. */
  endingShown?(state: RunState, ending: Ending): Ending;

  // The end of an execution.

  /** The history is full before a step: makes what is carried small, as far as it can be. */
  beforeContinuing?(state: RunState): void;
  /** False if the run must stay in this execution although its history is full, among the calls of a step. */
  mayContinue?(state: RunState): boolean;

  // Changes of what acts, and for whom.

  /** A turn has ended, also in the middle of a step, and the run continues with the next message. */
  turnEnds?(state: RunState): void;
  /** A turn begins. */
  turnBegins?(state: RunState): void;
  /** The agent was read again between two turns, and is another one than before. */
  agentRefreshed?(state: RunState, before: AgentSnapshot): void;
  /** Another agent takes over the run. `isFirst`: it has not acted in the run before. */
  agentSwitched?(state: RunState, isFirst: boolean): void;
  /** The conversation was emptied between two turns. */
  conversationCleared?(state: RunState): void;

  // What other runs have of this one.

  /** Returns rules of the run that hold for the runs that it starts, too. */
  passesOn?(state: RunState): Partial<ParentInput>;
  /** The same for a run that was started before, which is given another message. Those that hold since it was started are left out. */
  passesOnLater?(state: RunState): Partial<NextTurnInput>;
  /** Takes rules that the parent passes on with a message. True if the agent has changed by them. */
  takesRules?(state: RunState, next: NextTurnInput): boolean;

  // What others see.

  /** Usage was added to that of the run: adds it where else it counts. */
  spent?(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void;
  /** Returns the amounts that limits compare: what others have used for the run counts, and what no limit is about does not. */
  withOthers?(state: RunState, used: UsedAmounts): UsedAmounts;
  /** Returns the part of the limits of another run that this one has been given: no raise exceeds it. */
  limitsGiven?(state: Pick<RunState, 'slices'>): GivenLimits | undefined;
  /** Returns these for the result of a run, or of a turn. */
  countParts?(state: RunState): Partial<RunResultFields>;
  /** Returns the name of the agent that acts, unless the run began with it: decisions that are remembered hold for its tools alone. */
  laterAgent?(state: RunState): string | undefined;
  /** Returns fields of the status of a run. */
  statusParts?(state: RunState): Partial<StatusView>;
  /** Returns fields of a step, by the answer that it began with. */
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

/** What runs beside a model call. */
export interface BesideModelCall {
  /** Waits for its end, once the model call has ended in any way. Records nothing, unless it returns the end of the run. */
  ended(outcome: ModelCallOutcome): Promise<AfterModelCall>;
}

/** `instead`: the call counts as given up, and its answer is no step. `record`: what is recorded after the answer. */
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
}

/** A part of the limits of a run, which another one has been given. */
export interface GivenLimits {
  /** The id of the run that has given it. */
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
 * The calls of one response that do not keep a run from continuing as new: those that are alive then are left to the next execution,
 * which waits for them from its beginning.
 */
export interface LongCalls {
  /** The number of them that this execution waits for. */
  readonly waiting: number;
  /** True if this execution has waited for one. */
  readonly hasWaited: boolean;
  /** True once they are left to the next execution. */
  readonly isLeaving: boolean;
  /** True for a tool whose calls are such calls. */
  includes(tool: ToolSnapshot): boolean;
  /** True if an earlier execution has started the call. */
  isRunning(invocation: ToolInvocation): boolean;
  /** True if the call must wait until another one ends. */
  isHeldBack(invocation: ToolInvocation): boolean;
  /** Starts the call, or waits for one that an earlier execution has started. `left`: the calls that may still start, this one included. */
  run(invocation: ToolInvocation, left?: CallsLeft): Promise<ToolOutcome | LeftCall>;
  /** Leaves those that are alive to the next execution. */
  leave(): void;
}

// Tool phase: the phases that a capability has.

/**
 * Runs calls that are no activities: each after all other calls of its response, one after the other. It can make calls itself, which
 * pass the tool phase like those of a model. Its position is plain data: the run may continue from it in another execution.
 */
export interface Phase<Ports extends RunPorts = RunPorts> {
  /** Who makes its calls, in the record. */
  caller: NonNullable<Event['caller']>;
  /** Returns the indexes of the calls of a response that it runs, and that have no outcome yet. */
  pending(acting: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): readonly number[];
  /** Runs it to its end, or to the calls that it makes. Returns the position among the calls of its response, or among its own. */
  run(state: RunState, ports: Ports, position: PhasePosition): Promise<NextStep>;
  /** The calls that it has made have their outcomes. Records them, and returns its position, or that after it. */
  callsEnded(acting: ToolBatchContext, ports: Ports, position: PhasePosition, outcomes: (ToolOutcome | null)[]): NextStep;
}

/** A call that runs in a phase of its own: the name of the phase, and its index among the calls of its response. */
export interface CallOfPhase {
  phase: string;
  index: number;
}

// Tool phase: the gates that a capability has.

/**
 * Calls that are made together, and what was found out about them where they were made: by the activity that asked the model or ran the
 * code, which also calls the functions of the user, or by the step of a program.
 */
export type MadeCalls = Pick<RecordedResponse, 'content'> & Partial<RecordedResponse>;

/** A call that asks to start. */
export interface AskedCall {
  call: ToolCall;
  made: MadeCalls;
  /** The place of the call in the record, `event/index`: the digest of its decision, if nothing else gives one. */
  place: string;
  /** The call is one of the attempt after the step limit. */
  final?: boolean;
  /** The calls are the last ones of the run. */
  isLast?: boolean;
  /** The limits have no room for the call. */
  hasNoRoom?: boolean;
}

/** A call at a gate, with its tool. An answer, and a call of a tool that does not exist, have none. */
export interface GatedCall extends AskedCall {
  run: RunState;
  tool: ToolSnapshot | undefined;
}

/** A call that does not start, with the text for the model. */
export interface Denial {
  type: 'deny';
  reason: NotRun;
  text: string;
  /** Null for a call that was not looked at, because nothing could start. */
  durationMs: 0 | null;
}

/** The answer of one gate. Undefined lets the call pass as it is. */
export type GateAnswer =
  | Denial
  /** The call waits for a decision. */
  | { type: 'ask'; requirement: ApprovalRequirement }
  /** The call runs with other arguments, which the gates after this one see. */
  | { type: 'change'; arguments: JsonObject }
  | undefined;

/** One reason to stop or to change a call, by recorded data alone and without any effect. */
export interface Gate {
  name: string;
  /**
   * Its place in the order of all gates (`gate.ts`), by what it may do. `arguments`: it changes the arguments, before any rule sees them.
   * `rules`: it denies a call of a tool that exists, or asks about it, before the limits count the call.
   */
  place: 'arguments' | 'rules';
  /** It may change while a call waits: it is asked again once the call is approved, and only its denial counts. */
  again?: true;
  check(call: GatedCall): GateAnswer;
}

export function deny(reason: NotRun, text: string, durationMs: 0 | null = 0): Denial {
  return { type: 'deny', reason, text, durationMs };
}
