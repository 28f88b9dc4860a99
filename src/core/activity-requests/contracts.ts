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

/** Input of `resolveAgent`. Deps above 1 kB are queried from the run. A worker that lacks a hook of the ancestors refuses the run. */
export interface ResolveAgentInput extends OfRun, RunOverrides, InheritedRules {
  agent: string;
  /** The flow of agents, if no worker knows it by name. */
  flow?: FlowInput;
  /** The agent that hands over the run. Absent at the start of a run. */
  from?: string;
  /** The agent came as a document with the run's input: the activity queries it. */
  ofDocument?: true;
  deps?: JsonObject;
  depsByReference?: true;
  /** The run has a principal: hooks query it. */
  principal?: true;
  limits?: LimitChanges;
  /** The session has a dollar limit: the models' prices must be known. */
  priced?: true;
  /** The tier of the parent, or of the agent that hands over the run, for an agent without a tier. */
  ofTier?: 'batch';
  /** The remaining amounts of the parent's limits. */
  left?: LimitChanges;
  /** The parent and its call that started the run: the activity queries the input, the deps, or both. */
  ofCall?: FromCall & { runId: string };
}

/** Result of `resolveAgent`: the snapshot, the parent's answer, and notices about the tools. */
export type ResolveAgentOutput = AgentSnapshot & { opening?: ChildInputAnswer; notices?: Notice[] };

/** Input of `callModel`: a reference to the conversation, never the conversation. */
export interface CallModelInput extends OfRun, Pick<DataInput, 'principal'> {
  /** Digest of the snapshot. */
  agent: string;
  /** The number of events in the conversation. */
  through: number;
  lastEventId: string;
  /** The ids of the tool results in the last event, if it contains results. */
  results?: string[];
  /**
   * The ids of the other events since the last response, oldest first, which are nowhere else in the history. An id that is elsewhere in it
   * is an empty text.
   */
  earlierIds?: string[];
  /** The number of events since the last response that are not in the window, if any. */
  skipped?: number;
  /** The digest of the events since the last response, if the workflow has passed them to its worker's process. */
  news?: string;
  final?: true;
  /** The call is the first of a turn. Only for agents that treat it differently. */
  firstStep?: true;
  /** The conversation has been shortened because it was too long. Only for agents with several models. */
  shortened?: true;
  /** The last answer was incomplete, and the model continues it. */
  paused?: true;
  /** The names of the hosted tools that are not offered. */
  withoutHosted?: string[];
  /** The conversation has been idle for longer than providers cache it by default. */
  hasRested?: true;
  /** The activity first queries the agent's memory. */
  recall?: true;
  /** The number of the step, 1-based. Only for hooks. */
  step?: number;
  /** No batch answered the call, so it is made immediately. Only for runs of the tier `batch`. */
  unbatched?: true;
}

/** Input of `runBurst`: its first model call, and the state of the run. */
export interface RunBurstInput extends CallModelInput {
  /** The ids of the run's events are derived from it. */
  seed: string;
  /** The time of the run, in milliseconds since the epoch. */
  now: number;
  /** The digest of the loop's code. A worker with a different loop makes no call. */
  loop: string;
  /** Absent: it is too large for the input, and the activity queries the run for it. */
  state?: BurstState;
}

/** Input of `readCheckpoint`: the seed of the burst. */
export interface ReadCheckpointInput extends OfRun {
  seed: string;
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse } | BatchEnd;

/** Input of `summarize`: a part of the window, given by the offsets of the surrounding events. */
export interface SummarizeInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  through: number;
  lastEventId: string;
  head: number | null;
  tail: number | null;
  /** The maximum bytes of JSON of the summary. */
  maxBytes: number;
  /** The text is a title, not a summary. */
  purpose?: 'title';
}

/** Result of `summarize`: a summary, or the partial answer of a cancelled call. */
export type SummarizeOutput = Summary | { type: 'aborted'; partial?: RecordedResponse };

/** The part of the input of `callHooks` that does not depend on the event. */
interface HookedRun extends OfRun, DataInput {
  agentName: string;
  hooks: HookSnapshot[];
}

/** Input of `callHooks` before the calls of a response start. It does not contain the calls: the activity queries the run for them. */
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
  /** The agent that the call ran, and its run. */
  child?: { agent: string; runId: string };
  isError: boolean;
  /** The result. Absent: it is too large for the input, and the activity queries the run for it. */
  content?: JsonValue[];
  /** The maximum bytes of JSON of the result. */
  maxBytes: number;
}

/** Input of `callHooks` at the end of a run. It does not contain the output: the activity queries the run for it. */
export interface AtEndInput extends HookedRun {
  status: TerminalStatus;
  stopReason: StopReason;
}

/**
 * Input of `callHooks` at a point of the conversation: before a model has read messages (`input`), or before an answer counts (`output`).
 * The messages are read from the conversation, and the answer is queried: the input repeats neither.
 */
export interface AtPointInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  point: 'input' | 'output';
  /** The number of events of the record. */
  through: number;
  lastEventId: string;
  /** For input: the offset of the first event to check. */
  from?: number;
}

/** Result of `callHooks` at such a point: the findings of each capability, by name. `aborted`: the run was cancelled. */
export interface AtPointOutput {
  found: Record<string, unknown>;
  aborted?: true;
}

/** Result of `callHooks` after a call, and at the end of a run: the answers, and the call's result if they changed it. */
export interface CallHooksOutput {
  hooks: HookRecord[];
  result?: { content: JsonValue[]; isError: boolean };
  /** The texts that the model reads after the result. */
  notes?: string[];
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
  /** A hook rewrote the arguments: the activity queries the run for them. */
  rewritten?: true;
}

/** Input of `parseArguments`: arguments that no activity has made, for a tool whose schema may change them. */
export interface ParseArgumentsInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  tool: string;
  arguments: JsonObject;
  /** The decision that edits a call, or the call of a step. */
  of: string;
}

/** Result of `parseArguments`: the arguments that the tool runs with, or the reason why it would refuse them. */
export type ParseArgumentsOutput = { arguments: JsonObject } | { problem: string };

/** Input of `authorizeDecision`. Position and event id refer to the arguments of the call, as in the input of a tool's activity. */
export interface AuthorizeDecisionInput extends OfRun {
  agentName: string;
  decision: DecidedCall;
  /** What the decision is about. */
  kind: PendingApproval['kind'];
  /** The position of the call; absent for a limit. */
  at?: [offset: number, index: number];
  eventId?: string;
  /** A hook rewrote the call's arguments: the activity queries the run for them. */
  rewritten?: true;
  /** The edited arguments of the decision, if they are small enough for the input. */
  arguments?: JsonObject;
  content?: JsonValue;
  /** Arguments or content are too large for the input: the activity queries the run for them. */
  contentByReference?: true;
}

/** Result of `authorizeDecision`. */
export type AuthorizeDecisionOutput = { type: 'authorized'; as: string } | { type: 'refused'; reason: string };

/** Input of `notifyWaiting`. */
export interface NotifyWaitingInput extends OfRun {
  agentName: string;
  /** The same for every attempt, and different for every wait: `runId/key`, and the beginning of the wait for a limit. */
  notificationId: string;
  waiting: PendingApproval;
  at?: [offset: number, index: number];
  eventId?: string;
  /** A hook rewrote the call's arguments: the activity queries the run for them. */
  rewritten?: true;
}

/** Input of `notifyEnded`. It does not contain the result: the activity queries the run for it. */
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

/** The input member that decides whether a trait applies; true: it always applies. */
type Decides<Input> = true | (Input extends unknown ? keyof Input : never);

/** The properties of an activity that are needed outside of its request and its implementation. */
interface Traits<Input> {
  /**
   * It depends on something outside: the model, or something that the worker's options name. Views of a run show it while it is in
   * progress, and the command line shows this text; null: its name is clear enough.
   */
  progress?: string | null;
  /** It pins what the run needs from its worker, before the loop begins. */
  resolves?: true;
  /** A loop that runs again on a history must request exactly the same ones; otherwise it is not the loop that ran. */
  isDecisive?: Decides<Input>;
  /** A tool call waits for it, as it does for the tool's own activity. */
  isOfCall?: Decides<Input>;
  /** It is only requested when the loop has ended in this execution, or is about to. */
  endsLoop?: Decides<Input>;
}

/** The types of an activity. They have no value at run time. */
interface Contract<Input, Result> extends Traits<Input> {
  types?: { input: Input; result: Result };
}

function contract<Input, Result>(traits: Traits<Input> = {}): Contract<Input, Result> {
  return traits;
}

/**
 * Longhaul's own activities: name, input, result, and traits. Every other activity of a run is named after its tool. Requests,
 * implementations, and the reading of histories take their types from here.
 */
const CONTRACTS = {
  resolveAgent: contract<ResolveAgentInput, ResolveAgentOutput>({ resolves: true, isDecisive: true }),
  callModel: contract<CallModelInput, CallModelOutput>({ progress: null, isDecisive: true }),
  runBurst: contract<RunBurstInput, StoredBurst>({ progress: 'makes several steps', isDecisive: true }),
  readCheckpoint: contract<ReadCheckpointInput, Checkpoint | null>(),
  summarize: contract<SummarizeInput, SummarizeOutput>({ progress: 'summarizes the conversation', isDecisive: true }),
  archiveEvents: contract<ArchiveEventsInput, void>({ progress: 'sends events to the archive', endsLoop: true }),
  readResult: contract<ReadResultInput, RunResultFields | null>(),
  authorizeDecision: contract<AuthorizeDecisionInput, AuthorizeDecisionOutput>({ isDecisive: true }),
  notifyWaiting: contract<NotifyWaitingInput, void>({ progress: 'sends the notice of a pending decision' }),
  notifyEnded: contract<NotifyEndedInput, void>({ progress: 'sends the notice that the run has ended', endsLoop: true }),
  requestCancel: contract<RequestCancelInput, void>(),
  verifyCall: contract<VerifyCallInput, VerifyCallOutput>({ isOfCall: true }),
  reevaluateApproval: contract<ReevaluateApprovalInput, ApprovalRequirement | null>(),
  parseArguments: contract<ParseArgumentsInput, ParseArgumentsOutput>(),
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
  // Activities of batch collectors, which are not runs.
  submitBatch: contract<OfBatch, SubmitBatchOutput>(),
  pollBatch: contract<PollBatchInput, PollBatchOutput>(),
  completeBatch: contract<OfBatch, CompleteBatchOutput>(),
};

/** The name of one of Longhaul's own activities. */
export type ActivityName = keyof typeof CONTRACTS;

type TypesOf<Name extends ActivityName> = NonNullable<(typeof CONTRACTS)[Name]['types']>;

export type InputOf<Name extends ActivityName> = TypesOf<Name>['input'];

export type ResultOf<Name extends ActivityName> = TypesOf<Name>['result'];

/** The implementations: a worker has all of them. */
export type ActivityFunctions = { [Name in ActivityName]: (input: InputOf<Name>) => Promise<ResultOf<Name>> };

/** The names, for code that does not import the contracts. */
export const ACTIVITIES = Object.fromEntries(Object.keys(CONTRACTS).map((name) => [name, name])) as { [Name in ActivityName]: Name };

/** True for the name of one of Longhaul's own activities. All other names are tools. */
export function isOwnActivity(name: string): name is ActivityName {
  return Object.hasOwn(CONTRACTS, name);
}

/** Returns the traits of an activity by name. A tool has none of them. */
export function traitsOf(name: string): Pick<Traits<never>, 'progress' | 'resolves'> {
  return isOwnActivity(name) ? CONTRACTS[name] : {};
}

/** True if a trait applies to an activity with this input. */
export function hasTrait(trait: 'isDecisive' | 'isOfCall' | 'endsLoop', { name, input }: { name: string; input: unknown }): boolean {
  const member = isOwnActivity(name) ? CONTRACTS[name][trait] : undefined;
  return member === true || (member !== undefined && isJsonObject(input) && member in input);
}
