import type { Decision } from './domain/approvals.ts';
import type { Folded, WindowEvent } from './domain/window.ts';
import type { FromCall } from './domain/run-input.ts';
import type { ContinueAsNewState } from './kernel/continue-as-new.ts';

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

export {
  AGENT_RUN,
  PROGRAM_RUN,
  DEFAULT_TASK_QUEUE,
  SEARCH_ATTRIBUTES,
  SEARCH_ATTRIBUTE_TYPES,
  RESULT_MEMO,
  TITLE_MEMO,
  QUERIES,
  ASK_AGAIN,
  UPDATES,
  SIGNALS,
} from './protocol-names.ts';
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
