import type { Decision } from './domain/approvals.ts';
import type { FromCall } from './domain/run-input.ts';
import type { Folded, WindowEvent } from './domain/window.ts';
import type { ContinueAsNewState } from './kernel/continue-as-new.ts';

// The names that workflow, activities and clients share. Renaming one breaks the runs that know it.

/** The workflow type of a run of an agent. */
export const AGENT_RUN = 'agentRun';

/** The workflow type of a run of a program. */
export const PROGRAM_RUN = 'programRun';

/** The default task queue of client, worker and CLI. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

/** The keys of the search attributes. */
export const SEARCH_ATTRIBUTES = {
  /** The name of the agent that acts, or of the program. */
  agent: 'LonghaulAgent',
  /** The status of the run. */
  status: 'LonghaulStatus',
  /** What the run waits for: an entry for each tool whose call waits. */
  waitingFor: 'LonghaulWaitingFor',
  /** The tags of the run, an entry for each. */
  tag: 'LonghaulTag',
  /** The agent that a session began with: only sessions have it, and the client sets it when it starts one. */
  session: 'LonghaulSession',
  /** The tenant of the principal. */
  tenant: 'LonghaulTenant',
  /** The user of the principal, hashed if the clients of the namespace do so. */
  user: 'LonghaulUser',
} as const;

/** The types of the search attributes, in the words of the Temporal CLI. */
export const SEARCH_ATTRIBUTE_TYPES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
  LonghaulSession: 'Keyword',
  LonghaulTenant: 'Keyword',
  LonghaulUser: 'Keyword',
} as const;

/** The key of the memo that holds the result of a cancelled run, whose close cannot carry one. */
export const RESULT_MEMO = 'longhaulResult';

/** The key of the memo that holds the title of a session, for lists. */
export const TITLE_MEMO = 'longhaulTitle';

/** The names of the queries that a run answers. */
export const QUERIES = {
  status: 'status',
  context: 'context',
  steps: 'steps',
  /** Events and steps in one answer, for readers that follow a run. */
  record: 'record',
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
  /** Between a run and its own burst: the state that it begins with, and why the run waits for its end. */
  burst: 'burst',
} as const;

/**
 * The beginning of the error message of a query that the caller should send again: its worker has loaded the run together with
 * events that no workflow task has handled yet. The server passes on nothing of an error but its message.
 */
export const ASK_AGAIN = 'Ask again';

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
  refresh: 'refresh',
  reset: 'reset',
} as const;

/** The names of the Signals that a run accepts, for callers that can only signal. */
export const SIGNALS = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  send: 'send',
  pause: 'pause',
  resume: 'resume',
  raise: 'raise',
  cancel: 'cancel',
  cancelReason: 'cancelReason',
  notifyOnEnd: 'notifyOnEnd',
  childEnded: 'childEnded',
  childWaiting: 'childWaiting',
  pausedByParent: 'pausedByParent',
  startedAgain: 'startedAgain',
  nextTurn: 'nextTurn',
  interrupt: 'interrupt',
  close: 'close',
} as const;

/** The type of the workflow that collects calls into batches, and the names of its Signal and its queries. */
export const BATCH_COLLECTOR = 'batchCollector';
export const COLLECTOR_SIGNALS = { register: 'register' } as const;
export const COLLECTOR_QUERIES = { batch: 'batch', calls: 'calls' } as const;

/**
 * Returns the workflow id of a collector. Calls register with the first one that has room. Each task queue has separate ones, because
 * its workers alone have the agents.
 */
export function collectorId(provider: string, number: number, taskQueue: string): string {
  return ['longhaul-batch', provider, ...(taskQueue === DEFAULT_TASK_QUEUE ? [] : [taskQueue]), number].join('/');
}

export type {
  ArchiveEventsInput,
  ReevaluateApprovalInput,
  AuthorizeDecisionInput,
  AuthorizeDecisionOutput,
  CallModelInput,
  CallModelOutput,
  NotifyEndedInput,
  NotifyWaitingInput,
  RequestCancelInput,
  ResolveAgentInput,
  ResolveAgentOutput,
  SummariseInput,
  SummariseOutput,
  VerifyCallInput,
  VerifyCallOutput,
} from './activity-requests/contracts.ts';
export type { CallUsage, DataInput, DataView, OfRun, RunToolInput, RunToolOutput, Summary } from './domain/activity-messages.ts';
export type {
  CheckParentInput,
  CheckParentOutput,
  ChildInputAnswer,
  ChildEndedInput,
  ChildWaitingInput,
  PausedByParentInput,
  StartedAgainInput,
  ReadCallInput,
  ReadResultInput,
  NotifyOnEndInput,
} from './domain/children.ts';
export type { RunInput, RunTerms } from './domain/run-input.ts';
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
} from './domain/program-run.ts';
export type {
  ApprovalsPage,
  ContextPage,
  PostponedCall,
  RecordPage,
  RefusedCall,
  RunningCall,
  StatusView,
  StepsPage,
  WaitingForBatch,
} from './domain/views.ts';

export type {
  ApproveInput,
  CancelInput,
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
} from './domain/requests.ts';

export type { JournalPage, JournalQuestion, RunSegmentInput, RunSegmentOutput } from './domain/activity-messages.ts';

export { ACTIVITIES } from './activity-requests/contracts.ts';

/** Returns the name of a handler of a run. A run inside a workflow of the user puts its key before the name. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** Returns the key by which the burst of a run is ended, in the process of its worker. */
export function burstKey(key = ''): string {
  return `${key}/burst`;
}

/** The input of the next execution of a run: the state that the run carries over. */
export interface ContinuedInput {
  /** It is read by the code that wrote it. @internal */
  continuedState: ContinueAsNewState;
}

/** Argument of the `childInput` query: the event of the call, and its index in the content of that event. */
export type ChildInputQuestion = Pick<FromCall, 'eventId' | 'index'>;

/** Argument of the `callArguments` query. */
export interface CallArgumentsQuestion {
  callId: string;
}

/** Argument of the `decision` query. */
export interface DecisionQuestion {
  id: string;
}

/** Answer of the `decision` query. */
export type DecisionContent = Pick<Decision, 'arguments' | 'content'>;

/** Bytes of JSON up to which arguments and deps are part of the input of a tool's activity. */
export const INLINE_BYTES = 1_000;

/** Bytes of JSON at which a page of a query's answer ends, approximately: an answer is one payload of at most 2 MiB. */
export const PAGE_BYTES = 1_000_000;

/** The number of events, and their bytes of JSON, that code of the user reads at once: if it does not say, and at most. */
export const EVENTS_READ = { events: 20, mostEvents: 200, bytes: 64_000, mostBytes: 500_000 } as const;

/** The second argument of a query from an activity of the run. It proves that the server has recorded the events before that activity. */
export interface QueryingActivity {
  activityId: string;
}

/**
 * Events that a model call is the first to be given, as the workflow hands them to the process of its worker, which need not ask for
 * them then.
 */
export interface NewEvents {
  /** The number of events before them, and the id of the last of those, or an empty text. */
  since: number;
  sinceEventId: string;
  events: Folded[];
  /**
   * A digest of the events. The input of the activity has it as well: a workflow task that is executed again may record other events
   * with the same ids.
   */
  digest: string;
}

/** Argument of the `transcript` query. */
export interface TranscriptQuestion {
  /** The windows that the activity has, the newest first, each by the last event that it includes. */
  known: { through: number; lastEventId: string }[];
  /** The index at which the next page begins, in the list of the previous answer. */
  from: number;
}

/** Answer of the `transcript` query: a page of the events that the activity lacks. */
export type TranscriptAnswer = TranscriptPage &
  (
    | /** Events that extend the activity's window after `since` events. */ { type: 'events'; since: number; events: Folded[] }
    | /** The whole window, because the run knows none of the activity's. */ { type: 'window'; events: WindowEvent[] }
  );

/** The position of a page in its list, and the window of the run to which the list leads. */
interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}

/**
 * Argument of the Signal `cancelReason`. The client sends it before a request to cancel, because the reason in that request would
 * not be encrypted.
 */
export interface CancelReasonInput {
  reason: string;
}
