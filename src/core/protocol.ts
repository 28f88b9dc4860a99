import type { DecidedCall, Decision, PendingApproval } from './domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from './domain/json/json.ts';
import type { FlowInput } from './domain/flows/flow-policy.ts';
import type { LimitChanges } from './domain/agent/limits.ts';
import type { HookSnapshot } from './domain/hooks/hook-snapshot.ts';
import type { Permissions } from './domain/permissions/permissions.ts';
import type { RunOverrides } from './domain/run/overrides.ts';
import type { OfRun } from './domain/run/activity-messages.ts';
import type { ChildInputAnswer } from './domain/run/child-messages.ts';
import type { Notice } from './domain/record/notice.ts';
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
  ReadCallInput,
  ReadResultInput,
  ReportEndInput,
} from './domain/run/child-messages.ts';
export type { CallModelInput, CallModelOutput, SummariseInput, SummariseOutput, Summary } from './domain/run/model-messages.ts';
export type { CheckGuardrailsInput, CheckGuardrailsOutput } from './domain/guardrails/messages.ts';
export type { RunInput, RunTerms } from './domain/run/run-input.ts';
export type { NewEvents, TranscriptAnswer, TranscriptPage, TranscriptQuestion } from './domain/run/transcript-messages.ts';
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
export type { ApprovalsPage, ContextPage, RecordPage, RefusedCall, RunningCall, StatusView, StepsPage } from './domain/run/views.ts';

export type { JournalPage, JournalQuestion, RunSegmentInput, RunSegmentOutput } from './domain/code/segment-messages.ts';

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
  limits?: LimitChanges;
  /** The session has a limit in dollars: the prices of the models must be known. */
  priced?: true;
  /** The policies that hold for the run besides those of its agent. */
  permissions?: Permissions[];
  /** The hooks of the runs above: a worker that lacks one of them refuses the run. */
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
  /** The id of the decision. */
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
