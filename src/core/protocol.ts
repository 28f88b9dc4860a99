import type { LimitChanges, RunLimits, SessionLimits } from './domain/limits.ts';
import type { DecidedCall, Decision, Remember } from './domain/approvals.ts';
import type { ContentPart, MessageMode } from './domain/content.ts';
import type { JsonObject, JsonValue } from './domain/json.ts';
import type { Permissions } from './domain/permissions.ts';
import type { Principal } from './domain/run.ts';
import type { Folded, WindowEvent } from './domain/window.ts';
import type { FromCall } from './domain/run-input.ts';
import type { ContinueAsNewState } from './loop/state/continue-as-new-state.ts';

export type {
  ArchiveEventsInput,
  AskTermsInput,
  AuthorizeDecisionInput,
  AuthorizeDecisionOutput,
  CallModelInput,
  CallModelOutput,
  CheckGuardrailsInput,
  CheckGuardrailsOutput,
  NotifyEndedInput,
  NotifyWaitingInput,
  RequestCancelInput,
  ResolveAgentInput,
  ResolveAgentOutput,
  SummariseInput,
  SummariseOutput,
  Summary,
  VerifyCallInput,
  VerifyCallOutput,
} from './activity-requests/contracts.ts';
export type { CallUsage, DataInput, DataView, OfRun, RunToolInput, RunToolOutput } from './domain/activity-messages.ts';
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

/** The input of the next execution of a run: the state that the run carries over. */
export interface ContinuedInput {
  carry: ContinueAsNewState;
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
export interface TranscriptPage {
  through: number;
  lastEventId: string;
  from: number;
  total: number;
}

/** Argument of the Update and the Signal `send`. */
export interface SendInput {
  /** An id that the caller chooses, at most 64 characters: a message with the same id is accepted once. */
  id: string;
  content: string | ContentPart[];
  /** Default `queue`. */
  mode?: MessageMode;
  /** The identity on whose behalf the sender acts: a run of another principal refuses the message as if it did not exist. Default: not checked. */
  principal?: Pick<Principal, 'tenant' | 'user'>;
}

/** The fields of every decision. */
interface DecisionInput {
  callId: string;
  /** An id that the caller chooses, at most 64 characters: a decision sent again with the same id returns the first outcome. */
  id: string;
  /** The digest of the pending approval: a decision about other arguments is refused. */
  digest: string;
  /** The approver, as claimed. */
  by?: string;
}

/** Argument of the Update and the Signal `approve`. */
export interface ApproveInput extends DecisionInput {
  /** The arguments with which the call runs instead of the model's. For a limit: the limits to set. */
  arguments?: JsonObject;
  remember?: Remember;
}

/** Argument of the Update and the Signal `reject`. */
export interface RejectInput extends DecisionInput {
  /** The model reads it. */
  reason?: string;
  remember?: Remember;
}

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends DecisionInput {
  /** The result of the call, given instead of running the tool. */
  content: JsonValue;
}

/** Argument of the Update `revoke`. */
export interface RevokeInput {
  /** The id of the decision that no longer applies to further calls. */
  decision: string;
}

/** Argument of the Update and the Signal `raise`. */
export interface RaiseInput {
  /** An id that the caller chooses, at most 64 characters. */
  id: string;
  /** Limits of the run. */
  limits?: LimitChanges;
  /** Instead, limits of a whole session; `null` lifts one. */
  session?: SessionLimits;
  by?: string;
}

/** Argument of the Update `setPermissions`. */
export interface SetPermissionsInput {
  /** An id that the caller chooses, at most 64 characters. */
  id: string;
  /** The whole policy of the run, in place of the present one. */
  permissions: Permissions;
  by?: string;
}

/** Argument of the Signal `cancel`. */
export interface CancelInput {
  reason?: string;
  by?: string;
}

/**
 * Argument of the Signal `cancelReason`. The client sends it before a request to cancel, because the reason in that request would
 * not be encrypted.
 */
export interface CancelReasonInput {
  reason: string;
}

/** Answer of the Update `send`. */
export interface MessageReceipt {
  version: 1;
  id: string;
  /** `duplicate`: a message with that id was accepted before, and this one changes nothing. */
  status: 'queued' | 'duplicate';
  /** The number of messages in the queue. */
  queued: number;
  /** For a new message: the number of recorded events when it was accepted. Its own event has this offset or a later one. */
  offset?: number;
  /** For a message to a session: the number of the turn that answers it, unless that ends before the model reads it: then the next one does. */
  turn?: number;
  /** For a new message: the step whose model call reads it. 1-based. */
  beforeStep?: number;
}

/** Answer of the Updates `approve`, `reject` and `respond`. */
export interface DecisionReceipt {
  version: 1;
  /** `repeated`: the same decision was accepted before, and this one changes nothing. */
  status: 'decided' | 'repeated';
  decision: DecidedCall;
}

/** Answer of the Update `revoke`. */
export interface RevokeReceipt {
  version: 1;
  /** False if no decision with that id applied to further calls. */
  revoked: boolean;
}

/** Answer of the Update `raise`. */
export interface RaiseReceipt {
  version: 1;
  id: string;
  status: 'raised' | 'duplicate';
  /** The current limits. */
  limits: RunLimits;
}

/** Answer of the Update `setPermissions`. */
export interface SetPermissionsReceipt {
  version: 1;
  id: string;
  /** `to_authorize`: they would be wider, and the worker decides before the next model call. The outcome is an event of the run. */
  status: 'set' | 'to_authorize' | 'duplicate';
}

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt {
  version: 1;
  paused: boolean;
}
