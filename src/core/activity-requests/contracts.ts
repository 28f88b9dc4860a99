import type {
  DataInput,
  OfRun,
  ReviewedCalls,
  RunSegmentInput,
  RunSegmentOutput,
  RunToolInput,
  RunToolOutput,
  Summary,
} from '../domain/activity-messages.ts';
import type { AgentSnapshot, FlowInput } from '../domain/agent.ts';
import type { ApprovalRequirement, DecidedCall, PendingApproval } from '../domain/approvals.ts';
import type { BatchEnd, CompleteBatchOutput, OfBatch, PollBatchInput, PollBatchOutput, SubmitBatchOutput } from '../domain/batch.ts';
import type { CheckParentInput, CheckParentOutput, ChildInputAnswer, ReadCallInput, ReadResultInput } from '../domain/children.ts';
import type { HookRecord, HookSnapshot } from '../domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { LimitChanges } from '../domain/limits.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type {
  AskStepInput,
  AskStepOutput,
  EarlierRun,
  LoadOutputInput,
  LoadOutputOutput,
  ReadProgramInput,
  ResolveProgramInput,
  StoreOutputsInput,
  StoreOutputsOutput,
  UseMemoryInput,
  UseMemoryOutput,
} from '../domain/program-run.ts';
import type { BurstState, Checkpoint, StoredBurst } from '../bursts/burst.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { InheritedRules } from '../domain/parts.ts';
import type { FromCall, RunOverrides } from '../domain/run-input.ts';
import type { Notice, StopReason, TerminalStatus } from '../domain/run.ts';

/** Input of `resolveAgent`. Deps above 1 kB are read from the run by query. A worker that lacks a hook of the ancestors refuses the run. */
export interface ResolveAgentInput extends OfRun, RunOverrides, InheritedRules {
  agent: string;
  /** The order of agents, if it is not a flow that the worker has by its name. */
  flow?: FlowInput;
  /** The agent that hands the run over to this one. Absent at the start of a run. */
  from?: string;
  /** The agent came as a document with the input of the run: the activity queries it. */
  ofDocument?: true;
  deps?: JsonObject;
  depsByReference?: true;
  /** The run has a principal: hooks query it. */
  principal?: true;
  limits?: LimitChanges;
  /** The session has a limit in dollars: the prices of the models must be known. */
  priced?: true;
  /** The tier of the parent, or of the agent that hands the run over: for an agent that has none. */
  ofTier?: 'batch';
  /** The amounts that are left of the limits of the parent. */
  left?: LimitChanges;
  /** The parent and its call that started the run: the activity asks for the input, the deps, or both. */
  ofCall?: FromCall & { runId: string };
}

/** Result of `resolveAgent`: the snapshot, with what the parent has answered, and what a person should know of the tools. */
export type ResolveAgentOutput = AgentSnapshot & { opening?: ChildInputAnswer; notices?: Notice[] };

/** Input of `callModel`: a reference to the conversation, never the conversation. */
export interface CallModelInput extends OfRun, Pick<DataInput, 'principal'> {
  /** Digest of the snapshot. */
  agent: string;
  /** The number of events that form the conversation. */
  through: number;
  lastEventId: string;
  /** The ids of the tool results in the last event, if it is a batch of them. */
  results?: string[];
  /** The ids of the other events since the last response, oldest first: the history holds them nowhere else. Empty for those that it holds. */
  earlierIds?: string[];
  /** The number of events since the last response that are not in the window, if there are any. */
  skipped?: number;
  /** The digest of the events since the last response, if the workflow has handed them to the process of its worker. */
  news?: string;
  final?: true;
  /** The call is the first one of a turn. Only for agents to which that makes a difference. */
  firstStep?: true;
  /** The conversation has been shortened because it was too long. Only for agents with several models. */
  shortened?: true;
  /** The last answer was not at its end, and the model continues it. */
  paused?: true;
  /** The names of hosted tools that are not offered. */
  withoutHosted?: string[];
  /** The conversation has rested for longer than providers cache it by default. */
  hasRested?: true;
  /** The activity first asks the memory of the agent. */
  recall?: true;
  /** The number of the step, 1-based. Only for hooks. */
  step?: number;
  /** No batch has answered the call, so it is made at once. Only for runs of the tier `batch`. */
  unbatched?: true;
}

/** Input of `runBurst`: the model call that it begins with, and the state of the run. */
export interface RunBurstInput extends CallModelInput {
  /** The ids of the events of the run are made of it. */
  seed: string;
  /** The time of the run, in milliseconds since the epoch. */
  now: number;
  /** The digest of the code of the loop. A worker with another loop makes no call. */
  loop: string;
  /** Absent: it is too large for the input, and the activity queries it from the run. */
  state?: BurstState;
}

/** Input of `readCheckpoint`: the seed of the burst. */
export interface ReadCheckpointInput extends OfRun {
  seed: string;
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse } | BatchEnd;

/** Input of `summarise`: a part of the window, given by the offsets of the events on both sides of it. */
export interface SummariseInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  through: number;
  lastEventId: string;
  head: number | null;
  tail: number | null;
  /** Bytes of JSON that the summary may have. */
  maxBytes: number;
  /** The text is a title, and no summary. */
  purpose?: 'title';
}

/** Result of `summarise`: a summary, or the partial answer of a call that was cancelled. */
export type SummariseOutput = Summary | { type: 'aborted'; partial?: RecordedResponse };

/** The part of the input of `callHooks` that does not depend on the event. */
interface HookedRun extends OfRun, DataInput {
  agentName: string;
  hooks: HookSnapshot[];
}

/** Input of `callHooks` before the calls of a response start. The calls are not part of it: the activity queries them from the run. */
export interface BeforeCallsInput extends HookedRun {
  /** Digest of the snapshot. */
  agent: string;
  /** The id of the event of the calls. */
  beforeCallsOf: string;
}

/** Input of `callHooks` after a call. */
export interface AfterCallInput extends HookedRun {
  callId: string;
  toolName: string;
  at: [offset: number, index: number];
  eventId: string;
  /** Absent: they are too large for the input. */
  arguments?: JsonObject;
  /** A hook rewrote them. */
  rewritten?: true;
  /** The agent that the call has run, and its run. */
  child?: { agent: string; runId: string };
  isError: boolean;
  /** The result. Absent: it is too large for the input, and the activity queries it from the run. */
  content?: JsonValue[];
  /** The most bytes of JSON of the result. */
  maxBytes: number;
}

/** Input of `callHooks` at the end of a run. The output is not part of it: the activity queries it from the run. */
export interface AtEndInput extends HookedRun {
  status: TerminalStatus;
  stopReason: StopReason;
}

/**
 * Input of `callHooks` at a point of the conversation: before a model has read messages (`input`), or before an answer counts (`output`). The
 * messages are read from the conversation, and the answer by query: neither is repeated here.
 */
export interface AtPointInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  point: 'input' | 'output';
  /** The number of events of the record. */
  through: number;
  lastEventId: string;
  /** For input: the offset of the first event that was not asked about yet. */
  from?: number;
}

/** Result of `callHooks` at such a point: what each capability found, by its name. `aborted`: the run was cancelled. */
export interface AtPointOutput {
  found: Record<string, unknown>;
  aborted?: true;
}

/** Result of `callHooks` after a call, and at the end of a run: the answers, and the result of the call if they changed it. */
export interface CallHooksOutput {
  hooks: HookRecord[];
  result?: { content: JsonValue[]; isError: boolean };
}

/** Input of `verifyCall`: the input of the call, and the name of its tool. */
export interface VerifyCallInput extends RunToolInput {
  tool: string;
}

/** Result of `verifyCall`. */
export type VerifyCallOutput = { happened: true; output: RunToolOutput } | { happened: false; tool: string };

/** Input of `reevaluateApproval`. */
export interface ReevaluateApprovalInput extends OfRun, DataInput {
  /** Digest of the snapshot. */
  agent: string;
  callId: string;
  tool: string;
  at: [offset: number, index: number];
  eventId: string;
  /** A hook rewrote the arguments: the activity queries them from the run. */
  rewritten?: true;
}

/** Input of `authorizeDecision`. Position and event id refer to the arguments of the call, as in the input of a tool's activity. */
export interface AuthorizeDecisionInput extends OfRun {
  agentName: string;
  decision: DecidedCall;
  /** The position of the call; absent for a limit. */
  at?: [offset: number, index: number];
  eventId?: string;
  /** A hook rewrote the arguments of the call: the activity queries them from the run. */
  rewritten?: true;
  /** The edited arguments of the decision, if they are small enough for the input. */
  arguments?: JsonObject;
  content?: JsonValue;
  /** Arguments or content are too large for the input: the activity queries them from the run. */
  contentByReference?: true;
}

/** Result of `authorizeDecision`. */
export type AuthorizeDecisionOutput = { type: 'authorized'; as: string } | { type: 'refused'; reason: string };

/** Input of `notifyWaiting`. */
export interface NotifyWaitingInput extends OfRun {
  agentName: string;
  /** The same for every attempt, and different for every call: `runId/key`. */
  notificationId: string;
  waiting: PendingApproval;
  at?: [offset: number, index: number];
  eventId?: string;
  /** A hook rewrote the arguments of the call: the activity queries them from the run. */
  rewritten?: true;
}

/** Input of `notifyEnded`. It does not hold the result: the activity queries it from the run. */
export interface NotifyEndedInput extends OfRun {
  agentName: string;
  status: TerminalStatus;
}

/** Input of `archiveEvents`: the events from `from` up to, but not including, `through`. */
export interface ArchiveEventsInput extends OfRun {
  from: number;
  through: number;
}

/** Input of `requestCancel`. */
export interface RequestCancelInput {
  reason: string;
}

/** The member by which an input decides if a trait holds; true: it holds for all. */
type Decides<Input> = true | (Input extends unknown ? keyof Input : never);

/** The properties of an activity that others than its request and its implementation have to know. */
interface Traits<Input> {
  /**
   * It depends on something outside: on the model, or on what the options of the worker name. Views of a run show it while it is in
   * progress, the command line with this text; null: its name says enough.
   */
  progress?: string | null;
  /** It pins what the run needs of its worker, before the loop begins. */
  resolves?: true;
  /** A loop that is run again on a history must request exactly those that the history has: otherwise it is not the loop that ran. */
  isDecisive?: Decides<Input>;
  /** The call of a tool waits for it, as it does for the activity of the tool itself. */
  isOfCall?: Decides<Input>;
  /** It is only requested once the loop has ended in this execution, or just before. */
  endsLoop?: Decides<Input>;
}

/** The types of an activity: no value has them at run time. */
interface Contract<Input, Result> extends Traits<Input> {
  types?: { input: Input; result: Result };
}

function contract<Input, Result>(traits: Traits<Input> = {}): Contract<Input, Result> {
  return traits;
}

/**
 * Longhaul's own activities: the name of each, its input, its result, and its traits. The name of every other activity of a run is the name
 * of its tool. Requests, implementations, and the reading of histories have their types from here.
 */
const CONTRACTS = {
  resolveAgent: contract<ResolveAgentInput, ResolveAgentOutput>({ resolves: true, isDecisive: true }),
  callModel: contract<CallModelInput, CallModelOutput>({ progress: null, isDecisive: true }),
  runBurst: contract<RunBurstInput, StoredBurst>({ progress: 'makes several steps', isDecisive: true }),
  readCheckpoint: contract<ReadCheckpointInput, Checkpoint | null>(),
  summarise: contract<SummariseInput, SummariseOutput>({ progress: 'summarises the conversation', isDecisive: true }),
  archiveEvents: contract<ArchiveEventsInput, void>({ progress: 'sends events to the archive', endsLoop: true }),
  readResult: contract<ReadResultInput, RunResultFields | null>(),
  authorizeDecision: contract<AuthorizeDecisionInput, AuthorizeDecisionOutput>({ isDecisive: true }),
  notifyWaiting: contract<NotifyWaitingInput, void>({ progress: 'sends the notice of a pending decision' }),
  notifyEnded: contract<NotifyEndedInput, void>({ progress: 'sends the notice that the run has ended', endsLoop: true }),
  requestCancel: contract<RequestCancelInput, void>(),
  verifyCall: contract<VerifyCallInput, VerifyCallOutput>({ isOfCall: true }),
  reevaluateApproval: contract<ReevaluateApprovalInput, ApprovalRequirement | null>(),
  resolveProgram: contract<ResolveProgramInput, AgentSnapshot>({ resolves: true }),
  askStep: contract<AskStepInput, AskStepOutput>({ progress: 'a step asks the model' }),
  useMemory: contract<UseMemoryInput, UseMemoryOutput>({ progress: 'a step uses the memory' }),
  checkParent: contract<CheckParentInput, CheckParentOutput>(),
  readProgram: contract<ReadProgramInput, EarlierRun>(),
  // A program stores outputs before it continues.
  storeOutputs: contract<StoreOutputsInput, StoreOutputsOutput>({ progress: 'stores large outputs of steps', endsLoop: true }),
  loadOutput: contract<LoadOutputInput, LoadOutputOutput>({ progress: 'loads a large output of a step' }),
  runCode: contract<RunSegmentInput, RunSegmentOutput>(),
  callHooks: contract<BeforeCallsInput | AfterCallInput | AtEndInput | AtPointInput, ReviewedCalls | CallHooksOutput | AtPointOutput>({
    isDecisive: 'point',
    isOfCall: 'callId',
    endsLoop: 'status',
  }),
  readCallInput: contract<ReadCallInput, string>(),
  // Those of the collectors of batches, which are no runs.
  submitBatch: contract<OfBatch, SubmitBatchOutput>(),
  pollBatch: contract<PollBatchInput, PollBatchOutput>(),
  completeBatch: contract<OfBatch, CompleteBatchOutput>(),
};

/** The name of one of Longhaul's own activities. */
export type ActivityName = keyof typeof CONTRACTS;

type TypesOf<Name extends ActivityName> = NonNullable<(typeof CONTRACTS)[Name]['types']>;

export type InputOf<Name extends ActivityName> = TypesOf<Name>['input'];

export type ResultOf<Name extends ActivityName> = TypesOf<Name>['result'];

/** The implementations: a worker has one of each. */
export type ActivityFunctions = { [Name in ActivityName]: (input: InputOf<Name>) => Promise<ResultOf<Name>> };

/** The names, for those who do not import the contracts. */
export const ACTIVITIES = Object.fromEntries(Object.keys(CONTRACTS).map((name) => [name, name])) as { [Name in ActivityName]: Name };

/** True for the name of one of Longhaul's own activities. All others are names of tools. */
export function isOwnActivity(name: string): name is ActivityName {
  return Object.hasOwn(CONTRACTS, name);
}

/** Returns the traits of an activity by its name. A tool has none of them. */
export function traitsOf(name: string): Pick<Traits<never>, 'progress' | 'resolves'> {
  return isOwnActivity(name) ? CONTRACTS[name] : {};
}

/** True if such a trait holds for an activity with its input. */
export function hasTrait(trait: 'isDecisive' | 'isOfCall' | 'endsLoop', { name, input }: { name: string; input: unknown }): boolean {
  const member = isOwnActivity(name) ? CONTRACTS[name][trait] : undefined;
  return member === true || (member !== undefined && isJsonObject(input) && member in input);
}
