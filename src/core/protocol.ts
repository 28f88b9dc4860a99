import type { Decision } from './domain/approvals.ts';
import type { FromCall } from './domain/run-input.ts';
import type { Folded, Window, WindowEvent } from './domain/window.ts';
import type { ContinueAsNewState } from './kernel/continue-as-new.ts';

// The names shared by workflow, activities and clients. Renaming one breaks the runs that use it.

/** The workflow type of a run of an agent. */
export const AGENT_RUN = 'agentRun';

/** The workflow type of a run of a program. */
export const PROGRAM_RUN = 'programRun';

/** The default task queue of client, worker and CLI. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

/** The keys of the search attributes. */
export const SEARCH_ATTRIBUTES = {
  /** The name of the current agent, or of the program. */
  agent: 'LonghaulAgent',
  /** The status of the run. */
  status: 'LonghaulStatus',
  /** The tools that the run waits for: one entry for each tool with a waiting call. */
  waitingFor: 'LonghaulWaitingFor',
  /** The tags of the run, one entry each. */
  tag: 'LonghaulTag',
  /** The agent that a session began with: only sessions have it, and the client sets it at the start. */
  session: 'LonghaulSession',
  /** The tenant of the principal. */
  tenant: 'LonghaulTenant',
  /** The user of the principal, hashed if the clients of the namespace do so. */
  user: 'LonghaulUser',
  /** When the run started: only runs that have continued as new have it, because Temporal lists the start of an execution. */
  started: 'LonghaulStarted',
} as const;

/** The types of the search attributes, as named by the Temporal CLI. */
export const SEARCH_ATTRIBUTE_TYPES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
  LonghaulSession: 'Keyword',
  LonghaulTenant: 'Keyword',
  LonghaulUser: 'Keyword',
  LonghaulStarted: 'Datetime',
} as const;

/** The memo key for the result of a cancelled run, whose closing event cannot carry one. */
export const RESULT_MEMO = 'longhaulResult';

/** The memo key for the title of a session, used in lists. */
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
  /** Between a run and its own activities: the result of a call whose hooks are running. */
  hookedResult: 'hookedResult',
  /** Between a program's run and its own activities: outputs, a failure, an edited prompt. */
  stepValues: 'stepValues',
  /** Between a run and its own activities: the result, before the workflow closes. */
  result: 'result',
  /** Between a run and its own activities: the cells that made the namespace of its code. */
  journal: 'journal',
  /** Between a run and the child of a tool call: the child's input and deps. */
  childInput: 'childInput',
  turn: 'turn',
  /** Between a run and its own burst: the burst's initial state, and why the run waits for its end. */
  burst: 'burst',
} as const;

/**
 * The beginning of the error message of a query that the caller should send again: its worker has loaded the run along with events that no
 * workflow task has handled yet. The server passes on only the message of an error.
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

/** The names of the Signals that a run accepts, for callers that can only send Signals. */
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

/** The workflow type of batch collectors, and the names of its Signal and queries. */
export const BATCH_COLLECTOR = 'batchCollector';
export const COLLECTOR_SIGNALS = { register: 'register' } as const;
export const COLLECTOR_QUERIES = { batch: 'batch', calls: 'calls' } as const;

/**
 * Returns the workflow id of a collector. Calls register with the first one that has room. Each task queue has its own collectors, because
 * only its workers have the agents.
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
  SummarizeInput,
  SummarizeOutput,
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
  WaitForWorker,
  StatusView,
  StepsPage,
  UnreadMessage,
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

/** Returns the name of a handler of a run. A run inside a user's workflow prefixes it with its key. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** Returns the key for ending a run's burst in its worker's process. */
export function burstKey(key = ''): string {
  return `${key}/burst`;
}

/** The input of the next execution of a run: the carried state. */
export interface ContinuedInput {
  /** Only the code that wrote it reads it. @internal */
  continuedState: ContinueAsNewState;
}

/** Argument of the `childInput` query: the call's event, and the index in the event's content. */
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

/** The maximum bytes of JSON of arguments and deps in the input of a tool's activity. */
export const INLINE_BYTES = 1_000;

/** The approximate maximum bytes of JSON of a page in a query's answer: an answer is one payload of at most 2 MiB. */
export const PAGE_BYTES = 1_000_000;

/** The number of events, and their bytes of JSON, that the user's code reads at once: by default, and at most. */
export const EVENTS_READ = { events: 20, mostEvents: 200, bytes: 64_000, mostBytes: 500_000 } as const;

/** The second argument of a query from an activity of the run. It proves that the server has recorded the events before that activity. */
export interface QueryingActivity {
  activityId: string;
}

/** Events that a model call is the first to see, as the workflow passes them to its worker's process, which then need not query them. */
export interface NewEvents {
  /** The number of earlier events, and the id of the last one, or an empty text. */
  since: number;
  sinceEventId: string;
  events: Folded[];
  /**
   * A digest of the events. It is also in the activity's input, because a workflow task that is executed again may record other events with
   * the same ids.
   */
  digest: string;
}

/** Argument of the `transcript` query. */
export interface TranscriptQuestion {
  /** The windows that the activity has, newest first, each identified by its last event. */
  known: { through: number; lastEventId: string }[];
  /** The index at which the next page begins, in the previous answer's list. */
  from: number;
}

/** Answer of the `transcript` query: a page of the events that the activity lacks. */
export type TranscriptAnswer = TranscriptPage &
  (
    | /** Events that extend the activity's window after `since` events. */ { type: 'events'; since: number; events: Folded[] }
    | /** The whole window, because the run knows none of the activity's. */ ({ type: 'window'; events: WindowEvent[] } & Pick<
        Window,
        'usedCallIds'
      >)
  );

/** The position of a page in its list, and the resulting window of the run. */
interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}

/**
 * Argument of the Signal `cancelReason`. The client sends it before a request to cancel, because the reason in that request would not be
 * encrypted.
 */
export interface CancelReasonInput {
  reason: string;
}
