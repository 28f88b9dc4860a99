import type { AgentSnapshot, FlowInput } from './domain/agent.ts';
import type { LimitChanges } from './domain/limits.ts';
import type { DecidedCall, Decision, PendingApproval } from './domain/approvals.ts';
import type { HookRecord, HookSnapshot } from './domain/hooks.ts';
import type { JsonObject, JsonValue } from './domain/json.ts';
import type { RecordedResponse } from './domain/model.ts';
import type { Spent, UsageStats } from './domain/usage.ts';
import type { Permissions } from './domain/permissions.ts';
import type { Notice } from './domain/run.ts';
import type { Folded, WindowEvent } from './domain/window.ts';
import type { DataInput, OfRun } from './domain/activity-messages.ts';
import type { ChildInputAnswer } from './domain/children.ts';
import type { FromCall, RunOverrides } from './domain/run-input.ts';
import type { ContinueAsNewState } from './loop/state/continue-as-new-state.ts';

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
} from './domain/activity-messages.ts';
export type {
  CheckParentInput,
  CheckParentOutput,
  ChildInputAnswer,
  ChildEndedInput,
  ChildWaitingInput,
  PausedAboveInput,
  StartedAgainInput,
  ReadCallInput,
  ReadResultInput,
  ReportEndInput,
} from './domain/children.ts';
export type { CheckGuardrailsInput, CheckGuardrailsOutput } from './domain/activity-messages.ts';
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
export type { ApprovalsPage, ContextPage, RecordPage, RefusedCall, RunningCall, StatusView, StepsPage } from './domain/views.ts';

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
  SetPermissionsInput,
  SetPermissionsReceipt,
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
  ACTIVITIES,
} from './protocol-names.ts';

/** Returns the name of a handler of a run. A run inside a workflow of the user puts its key before the name. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** The input of the next execution of a run: the state that the run carries over. */
export interface ContinuedInput {
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
  limits?: LimitChanges;
  /** The session has a limit in dollars: the prices of the models must be known. */
  priced?: true;
  /** The policies that hold for the run besides those of its agent. */
  permissions?: Permissions[];
  /** The hooks of the ancestors: a worker that lacks one of them refuses the run. */
  hooks?: HookSnapshot[];
  /** The amounts that are left of the limits of the parent. */
  left?: LimitChanges;
  /** The parent and its call that started the run: the activity asks for the input, the deps, or both. */
  ofCall?: FromCall & { runId: string };
}

/** Result of `resolveAgent`: the snapshot, with what the parent has answered, and what a person should know of the tools. */
export type ResolveAgentOutput = AgentSnapshot & { opening?: ChildInputAnswer; notices?: Notice[] };

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
export interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}

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
  /** The agent's choice of a tool, which holds for the first step of a turn, holds for this call. */
  firstStep?: true;
  /** The activity first asks the memory of the agent. */
  recall?: true;
  /** The number of the step, 1-based. Only for hooks. */
  step?: number;
}

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

/** The summary of a part of the window. */
export interface Summary {
  /** The id of the event of the summary. */
  id: string;
  text: string;
  usage: UsageStats | null;
  /** The cost of the failed attempts before this one. */
  failedAttempts?: Spent;
  /** The answers of hooks about the compaction. */
  hooks?: HookRecord[];
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse };

/**
 * Argument of the Signal `cancelReason`. The client sends it before a request to cancel, because the reason in that request would
 * not be encrypted.
 */
export interface CancelReasonInput {
  reason: string;
}
