import type { ContentPart } from './domain/content/content.ts';
import type { DecidedCall, Decision, PendingApproval } from './domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from './domain/json/json.ts';
import type { LimitChanges } from './domain/agent/limits.ts';
import type { RecordedResponse } from './domain/model/recorded-response.ts';
import type { RunOverrides } from './domain/run/run-overrides.ts';
import type { OfRun } from './domain/run/tool-messages.ts';
import type { Spent, UsageStats } from './domain/model/usage.ts';
import type { Folded, WindowEvent } from './domain/record/window.ts';
import type { ContinueAsNewState } from './loop/state/continue-as-new-state.ts';

/**
 * The contract between the two sides of the sandbox: names and shapes of the workflow, its queries and its
 * activities. Everything here is plain JSON and versioned; adding an optional field is compatible, nothing else is.
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
} from './domain/run/run-requests.ts';
export type {
  AskTermsInput,
  CallUsage,
  GivenData,
  OfRun,
  RunToolInput,
  RunToolOutput,
  VerifyCallInput,
  VerifyCallOutput,
} from './domain/run/tool-messages.ts';
export type { NotifyEndedInput } from './domain/run/ended-message.ts';
export type { ApprovalsPage, ContextPage, RunningCall, StatusView, StepsPage } from './domain/run/run-views.ts';

/** The workflow type of a run. */
export const AGENT_RUN = 'agentRun';

/** The task queue that client, worker and CLI use unless told otherwise. */
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
  /** Between a run and its own activities: the events they lack. */
  transcript: 'transcript',
  /** Between a run and its own activities: deps and state. */
  data: 'data',
  /** Between a run and its own activities: the arguments of a call as they were decided. */
  callArguments: 'callArguments',
  /** Between a run and its own activities: the content of a decision whose author is being checked. */
  decision: 'decision',
  /** Between a run and its own activities: how it has ended, before its workflow closes. */
  result: 'result',
} as const;

/**
 * How the error of a query begins that came while its run was loaded together with events that no workflow task has handled
 * yet: asked again, it is answered. The server passes on nothing of an error but its message.
 */
export const ASK_AGAIN = 'Ask again';

/** The second argument of a query between a run and its own activities: which activity asks. It knows that the server has what led to it. */
export interface QueryingActivity {
  activityId: string;
}

/** The names of the Updates that a run takes. */
export const UPDATES = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  revoke: 'revoke',
  send: 'send',
  raise: 'raise',
  pause: 'pause',
  resume: 'resume',
} as const;

/** The names of the Signals that a run takes, for callers that can only signal. */
export const SIGNALS = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  send: 'send',
  cancel: 'cancel',
  cancelReason: 'cancelReason',
} as const;

/** The names of Longhaul's own activities; every other activity of a run bears the name of its tool. */
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
} as const;

/** The name of a handler of a run: as it is for a run that is a workflow of its own, after the key for one inside a workflow of the user. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** What starts a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export interface RunInput extends RunOverrides {
  /** The name of the agent. */
  agent: string;
  input: string | ContentPart[];
  deps?: JsonObject;
  /** Overrides the agent's step limit. */
  maxIterations?: number;
  /** Overrides other limits of the agent. */
  limits?: Omit<LimitChanges, 'maxIterations'>;
}

/** What starts the next execution of a run: all of it that goes on. Written by the run itself. */
export interface CarriedInput {
  carry: ContinueAsNewState;
}

/** Input of `resolveAgent`. Deps above 1 kB are read from the run by query. */
export interface ResolveAgentInput extends OfRun, RunOverrides {
  agent: string;
  deps?: JsonObject;
  depsByReference?: true;
  maxIterations?: number;
  limits?: Omit<LimitChanges, 'maxIterations'>;
}

/** Input of `readResult`. */
export interface ReadResultInput {
  runId: string;
}

/** Input of `callModel`: a reference to the conversation, never the conversation. */
export interface CallModelInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  /** The number of events that form the conversation. */
  through: number;
  lastEventId: string;
  /** The last event is a batch of these tool results. */
  results?: string[];
  /** Ids of the other events since the last response, oldest first: nothing else in history tells them. */
  earlierIds?: string[];
  final?: true;
}

/** Input of `summarise`: which part of the window, by the offsets of the events on both sides that stay. */
export interface SummariseInput extends OfRun {
  /** Digest of the snapshot. */
  agent: string;
  through: number;
  lastEventId: string;
  head: number;
  tail: number | null;
  /** Bytes of JSON that the text may have. */
  maxBytes: number;
}

/** Result of `summarise`: a summary, or what was spent on one that was cancelled. */
export type SummariseOutput = Summary | { type: 'aborted'; partial?: RecordedResponse };

/** The summary of a part of the window. */
export interface Summary {
  /** The id of the event of the summary. */
  id: string;
  text: string;
  usage: UsageStats | null;
  /** What the attempts before cost that failed. */
  failedAttempts?: Spent;
}

/** Input of `archiveEvents`: the events from `from` up to, and without, `through`. */
export interface ArchiveEventsInput extends OfRun {
  from: number;
  through: number;
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse };

/** Input of `authorizeDecision`. The arguments of the call are where the tool's activity has them. */
export interface AuthorizeDecisionInput extends OfRun {
  agentName: string;
  decision: DecidedCall;
  /** Where the call is; absent for a limit. */
  at?: [offset: number, index: number];
  eventId?: string;
  /** Of the decision, where they are small enough for the input. */
  arguments?: JsonObject;
  content?: JsonValue;
  /** They are too large for the input: ask the run. */
  contentByReference?: true;
}

/** Result of `authorizeDecision`. */
export type AuthorizeDecisionOutput = { type: 'authorized'; as: string } | { type: 'refused'; reason: string };

/** Input of `notifyWaiting`. */
export interface NotifyWaitingInput extends OfRun {
  agentName: string;
  /** The same for every attempt, and for no other call: `runId/key`. */
  notificationId: string;
  waiting: PendingApproval;
  at?: [offset: number, index: number];
  eventId?: string;
}

/** Input of `requestCancel`. */
export interface RequestCancelInput {
  reason: string;
}

/** Question of the `callArguments` query. */
export interface CallArgumentsQuestion {
  callId: string;
}

/** Question of the `decision` query. */
export interface DecisionQuestion {
  /** Of the decision. */
  id: string;
}

/** Answer of the `decision` query. */
export type DecisionContent = Pick<Decision, 'arguments' | 'content'>;

/** Question of the `transcript` query. */
export interface TranscriptQuestion {
  /** The windows that the asker has, the newest first, each by the record behind it. */
  known: { through: number; lastEventId: string }[];
  /** Where the next page begins, in the list that the answer before was a page of. */
  from: number;
}

/** Answer of the `transcript` query: a page of what the asker lacks. */
export type TranscriptAnswer = TranscriptPage &
  (
    | /** Events of the record, to extend the asker's window after `since` events by. */ { type: 'events'; since: number; events: Folded[] }
    | /** The run knows none of those windows, and gives its own. */ { type: 'window'; events: WindowEvent[] }
  );

/** Where a page is in its list, and what window of the run it leads to. */
export interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}

/** Answer of the `data` query. */
export interface DataView {
  deps: JsonObject;
  state: JsonObject;
}

/** Arguments and deps up to this size (bytes of JSON) travel in the input of a tool's activity. */
export const INLINE_BYTES = 1_000;

/** A page of a query's answer stops at about this size: an answer is one payload of at most 2 MiB. */
export const PAGE_BYTES = 1_000_000;
