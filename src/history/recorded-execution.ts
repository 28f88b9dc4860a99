import type { AgentSnapshot } from '../core/domain/agent/agent-snapshot.ts';
import type { ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import type { ApprovalRequirement } from '../core/domain/approvals/approval.ts';
import type {
  ArchiveEventsInput,
  AskTermsInput,
  AuthorizeDecisionInput,
  AuthorizeDecisionOutput,
  CallModelInput,
  CallModelOutput,
  NotifyEndedInput,
  NotifyWaitingInput,
  RunInput,
  RunToolInput,
  RunToolOutput,
  SummariseInput,
  SummariseOutput,
  VerifyCallInput,
  VerifyCallOutput,
} from '../core/protocol.ts';
import type { LocalActivity } from './recorded-markers.ts';

/** How a recorded activity ended. Workflow tasks are counted from 1 on: what happened since the task before is seen by the next. */
export interface RecordedActivity<Input, Output> {
  input: Input;
  /** The task that asked for it. */
  scheduledIn: number;
  output?: Output;
  /** The failure of its last attempt. */
  failure?: Error;
  /** The task that saw its end. */
  task?: number;
}

/** What came to a run from outside, in the task that took it. */
export interface RecordedInboundMessage {
  by: 'update' | 'signal';
  name: string;
  argument: unknown;
  task: number;
}

/** How an execution closed. */
export type ExecutionEnd =
  | { type: 'continued'; executionId: string }
  /** `cancelled`: as Canceled. `at` is in milliseconds since the epoch. */
  | { type: 'closed'; cancelled: boolean; at: number };

/** What the history of one execution of a run holds: enough to run the loop again without asking anything. */
export interface RecordedExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The execution that went on in this one; undefined for the first of a run. */
  continuedFrom?: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** What the execution began with: the input of the run, or what the execution before carried over. */
  input?: RunInput;
  carry?: ContinueAsNewState;
  /** The agent, and the task that saw it. Undefined where the run never had it. */
  resolved?: { snapshot: AgentSnapshot; task: number };
  modelCalls: RecordedActivity<CallModelInput, CallModelOutput>[];
  summaries: RecordedActivity<SummariseInput, SummariseOutput>[];
  /** By the place of the call: see `placeOf`. */
  toolCalls: Map<string, RecordedActivity<RunToolInput, RunToolOutput>>;
  /** Tool calls that ran inside a task, in the order in which they ended. Their input is in no history; `scheduledIn` is where they ended. */
  localCalls: RecordedActivity<LocalActivity, RunToolOutput>[];
  /** What was asked about calls of which nobody knew what became of them. By place. */
  verifications: Map<string, RecordedActivity<VerifyCallInput, VerifyCallOutput>>;
  /** Predicates that were asked again. By place. */
  termsAsked: Map<string, RecordedActivity<AskTermsInput, ApprovalRequirement | null>>;
  authorizations: RecordedActivity<AuthorizeDecisionInput, AuthorizeDecisionOutput>[];
  notifications: RecordedActivity<NotifyWaitingInput, unknown>[];
  /** All activities that ended, in the order in which they did. */
  ended: RecordedActivity<unknown, unknown>[];
  inboundMessages: RecordedInboundMessage[];
  /** The changes of the loop that the execution has shown. */
  changes: Set<string>;
  cancel?: { reason: string; task?: number };
  /** The tasks that saw a timer fire. */
  timers: Set<number>;
  /** When each task began, in milliseconds since the epoch. */
  taskTimes: number[];
  /** The task in which the loop came to its end in this execution. */
  decidedIn?: number;
  /** How its events were handed to an archive, or are being handed: once more where the run was cancelled meanwhile. */
  archivings: RecordedActivity<ArchiveEventsInput, unknown>[];
  /** Somebody was told that the run has ended, or is being told. */
  tellingEnd?: RecordedActivity<NotifyEndedInput, unknown>;
  end?: ExecutionEnd;
}

/** Where a tool call is in the record: offset of its event and place in it. */
export function placeOf(offset: number, index: number): string {
  return `${offset}/${index}`;
}
