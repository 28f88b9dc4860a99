import type { DecidedCall, Decision, PendingApproval } from './domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from './domain/json/json.ts';
import type { FlowInput } from './domain/flows/flow-policy.ts';
import type { LimitChanges } from './domain/agent/limits.ts';
import type { HookSnapshot } from './domain/hooks/hook-snapshot.ts';
import type { Permissions } from './domain/permissions/permissions.ts';
import type { RunOverrides } from './domain/run/overrides.ts';
import type { OfRun } from './domain/run/activity-messages.ts';
import type { ChildInputAnswer } from './domain/run/child-messages.ts';
import type { AgentSnapshot } from './domain/agent/agent-snapshot.ts';
import type { FromCall } from './domain/run/run-input.ts';
import type { ContinueAsNewState } from './loop/state/continue-as-new-state.ts';

/**
 * The contract between workflow, activities and clients: the names and shapes of the workflow, its queries and its activities.
 * All of it is plain JSON and versioned. Adding an optional field is compatible, any other change is not.
 */

export type {
  ApproveInput,
  CancelInput,
  CancelReasonInput,
  DecisionReceipt,
  MessageReceipt,
  PauseReceipt,
  RaiseInput,
  RaiseReceipt,
  RejectInput,
  RespondInput,
  RevokeInput,
  RevokeReceipt,
  SendInput,
  SetPermissionsInput,
  SetPermissionsReceipt,
} from './domain/run/requests.ts';
export type {
  AskTermsInput,
  CallUsage,
  DataInput,
  ArchiveEventsInput,
  DataView,
  NotifyEndedInput,
  OfRun,
  RunToolInput,
  RunToolOutput,
  VerifyCallInput,
  VerifyCallOutput,
} from './domain/run/activity-messages.ts';
export type {
  CheckParentInput,
  CheckParentOutput,
  ChildInputAnswer,
  ChildEndedInput,
  ChildWaitingInput,
  PausedAboveInput,
  StartedAgainInput,
  ReadResultInput,
  ReportEndInput,
} from './domain/run/child-messages.ts';
export type { CallModelInput, CallModelOutput, SummariseInput, SummariseOutput, Summary } from './domain/run/model-messages.ts';
export type { CheckGuardrailsInput, CheckGuardrailsOutput } from './domain/guardrails/messages.ts';
export type { RunInput, RunTerms } from './domain/run/run-input.ts';
export type { TranscriptAnswer, TranscriptPage, TranscriptQuestion } from './domain/run/transcript-messages.ts';
export type {
  AskStepInput,
  AskStepOutput,
  ProgramInput,
  ReadProgramInput,
  ResolveProgramInput,
  Resume,
  StepValuesAnswer,
  StepValuesQuestion,
  UseMemoryInput,
  UseMemoryOutput,
} from './domain/program/messages.ts';
export type { ApprovalsPage, ContextPage, RunningCall, StatusView, StepsPage } from './domain/run/views.ts';

export type { JournalPage, JournalQuestion, RunSegmentInput, RunSegmentOutput } from './domain/code/segment-messages.ts';

/** The workflow type of a run of an agent. */
export const AGENT_RUN = 'agentRun';

/** The workflow type of a run of a program. */
export const PROGRAM_RUN = 'programRun';

/** The default task queue of client, worker and CLI. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

/** The keys of the search attributes. `waitingFor` has an entry for each tool that waits, `tag` one for each tag of the run. */
export const SEARCH_ATTRIBUTES = {
  agent: 'LonghaulAgent',
  status: 'LonghaulStatus',
  waitingFor: 'LonghaulWaitingFor',
  tag: 'LonghaulTag',
} as const;

/** The types of the search attributes, in the words of the Temporal CLI. */
export const SEARCH_ATTRIBUTE_TYPES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
} as const;

/** The key of the memo that holds the result of a cancelled run, whose close cannot carry one. */
export const RESULT_MEMO = 'longhaulResult';

/** The names of the queries that a run answers. */
export const QUERIES = {
  status: 'status',
  context: 'context',
  steps: 'steps',
  snapshot: 'snapshot',
  approvals: 'approvals',
  trace: 'trace',
  /** Between a run and its own activities: the events that the activity lacks. */
  transcript: 'transcript',
  /** Between a run and its own activities: deps and state. */
  data: 'data',
  /** Between a run and its own activities: the arguments of a call that a decision edited. */
  callArguments: 'callArguments',
  /** Between a run and its own activities: the content of a decision whose approver is being checked. */
  decision: 'decision',
  /** Between a run and its own activities: the calls that hooks review. */
  hookedCalls: 'hookedCalls',
  /** Between a run and its own activities: the result of a call whose hooks are called. */
  hookedResult: 'hookedResult',
  /** Between the run of a program and its own activities: outputs, a failure, an edited prompt. */
  stepValues: 'stepValues',
  /** Between a run and its own activities: the result, before the workflow closes. */
  result: 'result',
  /** Between a run and its own activities: the cells that made the namespace of its code. */
  journal: 'journal',
  /** Between a run and a child that a tool call has started: the input and the deps of the child. */
  childInput: 'childInput',
  turn: 'turn',
} as const;

/**
 * The beginning of the error message of a query that the caller should send again: its worker has loaded the run together with
 * events that no workflow task has handled yet. The server passes on nothing of an error but its message.
 */
export const ASK_AGAIN = 'Ask again';

/** The second argument of a query from an activity of the run. It proves that the server has recorded the events before that activity. */
export interface QueryingActivity {
  activityId: string;
}

/** The names of the Updates that a run accepts. */
export const UPDATES = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  revoke: 'revoke',
  send: 'send',
  raise: 'raise',
  pause: 'pause',
  resume: 'resume',
  setPermissions: 'setPermissions',
  interrupt: 'interrupt',
  close: 'close',
} as const;

/** The names of the Signals that a run accepts, for callers that can only signal. */
export const SIGNALS = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  send: 'send',
  cancel: 'cancel',
  cancelReason: 'cancelReason',
  reportEnd: 'reportEnd',
  childEnded: 'childEnded',
  childWaiting: 'childWaiting',
  pausedAbove: 'pausedAbove',
  startedAgain: 'startedAgain',
} as const;

/** The names of Longhaul's own activities. The name of every other activity of a run is that of its tool. */
export const ACTIVITIES = {
  resolveAgent: 'resolveAgent',
  callModel: 'callModel',
  summarise: 'summarise',
  archiveEvents: 'archiveEvents',
  readResult: 'readResult',
  authorizeDecision: 'authorizeDecision',
  notifyWaiting: 'notifyWaiting',
  notifyEnded: 'notifyEnded',
  requestCancel: 'requestCancel',
  verifyCall: 'verifyCall',
  askTerms: 'askTerms',
  resolveProgram: 'resolveProgram',
  askStep: 'askStep',
  useMemory: 'useMemory',
  checkParent: 'checkParent',
  readProgram: 'readProgram',
  storeOutputs: 'storeOutputs',
  loadOutput: 'loadOutput',
  runCode: 'runCode',
  callHooks: 'callHooks',
  checkGuardrails: 'checkGuardrails',
} as const;

/** Returns the name of a handler of a run. A run inside a workflow of the user puts its key before the name. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** The input of the next execution of a run: the state that the run carries over. */
export interface CarriedInput {
  carry: ContinueAsNewState;
}

/** Input of `resolveAgent`. Deps above 1 kB are read from the run by query. */
export interface ResolveAgentInput extends OfRun, RunOverrides {
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
  maxIterations?: number;
  limits?: Omit<LimitChanges, 'maxIterations'>;
  /** The policies that hold for the run besides those of its agent. */
  permissions?: Permissions[];
  /** The hooks of the runs above: a worker that lacks one of them refuses the run. */
  hooks?: HookSnapshot[];
  /** The amounts that are left of the limits of the parent. */
  left?: LimitChanges;
  /** The parent and its call that started the run: the activity asks for the input, the deps, or both. */
  ofCall?: FromCall & { runId: string };
}

/** Result of `resolveAgent`: the snapshot, with what the parent has answered. */
export type ResolveAgentOutput = AgentSnapshot & { opening?: ChildInputAnswer };

/** Argument of the `childInput` query: the event of the call, and its index in the content of that event. */
export type ChildInputQuestion = Pick<FromCall, 'eventId' | 'index'>;

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

/** Input of `requestCancel`. */
export interface RequestCancelInput {
  reason: string;
}

/** Argument of the `callArguments` query. */
export interface CallArgumentsQuestion {
  callId: string;
}

/** Argument of the `decision` query. */
export interface DecisionQuestion {
  /** The id of the decision. */
  id: string;
}

/** Answer of the `decision` query. */
export type DecisionContent = Pick<Decision, 'arguments' | 'content'>;

/** Bytes of JSON up to which arguments and deps are part of the input of a tool's activity. */
export const INLINE_BYTES = 1_000;

/** Bytes of JSON at which a page of a query's answer ends, approximately: an answer is one payload of at most 2 MiB. */
export const PAGE_BYTES = 1_000_000;
