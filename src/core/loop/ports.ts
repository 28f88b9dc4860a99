// Shared state: the effects of all phases.

import type { ChildCall, ChildOutcome, Resolved } from '../domain/children.ts';
import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ReviewedCalls, RunSegmentOutput } from '../domain/activity-messages.ts';
import type { HookRecord } from '../domain/hooks.ts';
import type { SpilledContent, ToolCall } from '../domain/content.ts';
import type { ApprovalRequirement, Decision, PendingApproval } from '../domain/approvals.ts';
import type { GuardrailReport } from '../domain/guardrails.ts';
import type { ContextOperation } from '../domain/deps.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { StopReason, TerminalStatus } from '../domain/run.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { FinishReason, NotRun, Verified } from '../domain/tool-calls.ts';
import type { Spent, UsageStats } from '../domain/usage.ts';
import type { CodeCallResult, Moment } from '../domain/execution.ts';
import type { RunClock, RunState } from './state/run-state.ts';
import type { Inbox } from './state/inbox.ts';

/** The conversation by reference: the window of the run after `through` events. */
export interface Conversation {
  /** The number of events of the record. */
  through: number;
  /** The id of the last of them. The activity that assembles the conversation checks it. */
  lastEventId: string;
}

/** One model call, by reference. */
export interface ModelCall extends Conversation {
  /** 1-based. */
  step: number;
  /** The ids of the tool results in the last event, in order, if activities produced all of them. */
  resultIds?: string[];
  /** The ids of all events that are new to the model but the last one, so that the history contains them. */
  earlierIds?: string[];
  /** The number of events since the last response that are not in the window: calls of code, and their results. */
  skippedEvents?: number;
  /** The digest of the events since the last response, if the process of the worker has them from the workflow. */
  news?: string;
  /** The call is given what the memory of the agent has about the newest message. */
  recall?: true;
  /** The number of events that the model has not seen yet. */
  newEvents: number;
  /** The agent's choice of a tool, which holds for the first step of a turn, holds for this call. */
  firstStep?: true;
  /** The conversation was too long for the call before, and has been shortened: a model with a larger context may be asked. */
  shortened?: true;
  /** True for the attempt after the step limit, which asks for the best final answer and offers no tools. */
  final: boolean;
}

/** The outcome of a model call. Failures are data too, and are not thrown. */
export type ModelCallOutcome =
  | { type: 'response'; response: RecordedResponse }
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse }
  /** The call was given up for a message that interrupts it. */
  | { type: 'interrupted'; partial?: RecordedResponse };

/** One tool call that may run: the tool exists and the arguments fit. */
export interface ToolInvocation {
  step: number;
  call: ToolCall;
  tool: ToolSnapshot;
  /** Offset of the event of the call; `index` is the index of the call in the content of that event. */
  offset: number;
  index: number;
  eventId: string;
  /** A decision or a hook changed the arguments of `call`: they are not the model's. */
  edited?: true;
}

export type ToolOutcome =
  | {
      type: 'result';
      status: 'success' | 'error';
      content: JsonValue[];
      /** The location of the whole content, if `content` is only its preview. */
      spilled?: SpilledContent;
      /** The call did not run, for this reason. */
      notRun?: NotRun;
      /** Milliseconds, or null if the tool never started. */
      durationMs: number | null;
      /** The id in the caches of transcripts. Absent if no activity produced the result. */
      resultId?: string;
      /** Keys to set in the run's state. */
      state?: JsonObject;
      /** The changes of deps by the call; once they are applied, only those that were applied. */
      contextUpdate?: ContextOperation[];
      /** The changes of deps are applied. */
      applied?: true;
      /** The tool asks the model to try again. */
      asksRetry?: true;
      /** The outcome is unknown: the call may have taken effect. */
      isUnknown?: true;
      /** The report of the tool, if the answer of the call was lost. */
      verified?: Verified;
      /** The answers of hooks about the result. */
      hooks?: HookRecord[];
      /** No worker had the tool until the end of the wait: the run ends. */
      noWorker?: { code: ErrorCode; message: string };
      /** The final answer of a cell. */
      finalAnswer?: { value: JsonValue };
      /** The agent that takes over once the step has ended. */
      transferTo?: string;
      /** The run that the call has started as a child. */
      childRunId?: string;
      /** The result of that run, if it is also the result of this one; or the way in which an agent of a parallel flow ended, if it did not complete. */
      ended?: EndOfFinalAgent;
      /** The time of recording, if the result was recorded before others of its response. ISO 8601. */
      recordedAt?: string;
    }
  /** The call was running when the run was cancelled. `isUnknown`: its answer had been lost before. */
  | { type: 'cancelled'; recordedAt?: string; isUnknown?: true; childRunId?: string }
  /**
   * The call may have started, and its outcome is unknown. `reason` describes how its answer was lost. Only for tools with the
   * effect `once`.
   */
  | { type: 'lost'; reason: string; recordedAt?: never };

export type ToolResultOutcome = Extract<ToolOutcome, { type: 'result' }>;

export interface EndOfFinalAgent {
  /** The name of the tool. */
  tool: string;
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  finishReason?: FinishReason;
  error?: { code: string; message: string };
}

export interface SegmentCall {
  step: number;
  /** The call of `run_code`, the offset and the id of its event, and its index in the content. */
  call: ToolCall;
  offset: number;
  index: number;
  eventId: string;
  /** The code of the cell. */
  code: string;
  moment: Moment;
  /** The number of cells in the journal before this one. */
  cell: number;
  /** The digest of the segment before, of any cell, or of the checkpoint. Absent: the namespace is empty. */
  after?: string;
  /** The number of segments of the cell before this one, of the calls that they made, and the milliseconds that they took. */
  segment: number;
  calls: number;
  spentMs: number;
  /** The segment must not be local. */
  remote?: true;
  /** A checkpoint is wanted after the cell. */
  checkpoint?: true;
  /** The results of the calls of the segment before. */
  results?: CodeCallResult[];
}

export type SegmentOutcome =
  | Exclude<RunSegmentOutput, { type: 'cold' | 'calls' }>
  /** `id`: the id of the event of the calls. */
  | (Omit<Extract<RunSegmentOutput, { type: 'calls' }>, 'calls'> & { id: string; calls: ToolCall[] })
  /** The segment did not run, or its answer was lost. */
  | { type: 'failed'; message: string; noWorker?: { code: ErrorCode; message: string } }
  | { type: 'cancelled' };

/** The part of the window to summarise: the events between two others (see `Compaction`). */
export interface SummaryRequest extends Conversation {
  head: number | null;
  tail: number | null;
  /** The number of events between them. */
  events: number;
  /** Bytes of JSON that the text of the summary may have. */
  maxBytes: number;
  /** The text is a title, and no summary. */
  purpose?: 'title';
}

export type SummaryOutcome =
  | {
      type: 'summary';
      id: string;
      text: string;
      usage: UsageStats | null;
      failedAttempts?: Spent;
      answeredBy?: string;
      hooks?: HookRecord[];
    }
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse };

/** A check by all guardrails of a type, by reference. */
export interface GuardrailCheck extends Conversation {
  type: 'input' | 'output';
  /** For input: the offset of the first event that is not checked yet. */
  from?: number;
}

/** The outcome of a check by guardrails. */
export type GuardrailOutcome =
  | { type: 'checked'; report: GuardrailReport }
  /** The activity failed for good. */
  | { type: 'failed'; code: ErrorCode; message: string; report?: never }
  | { type: 'cancelled'; report?: GuardrailReport };

/** The outcome of checking that an approver may decide. `as` is the verified identity. */
export type Authorization =
  | { type: 'authorized'; as: string }
  | { type: 'refused'; reason: string }
  /** The check was not completed, because the run is cancelled. */
  | { type: 'cancelled' };

/** The outcome of a notification. */
export type NotifyOutcome =
  | { type: 'notified' }
  /** The notification failed for good. */
  | { type: 'failed'; message: string }
  /** The notification was not completed, because the run is cancelled. */
  | { type: 'cancelled' };

/** The latest end of a wait. */
export interface WaitDeadline {
  /** Milliseconds since the epoch. */
  at: number;
  /** The summary of the timer in the Temporal UI. */
  summary: string;
}

/** The approximate growth of the history by the next commands of the run. */
export interface Growth {
  events: number;
  bytes: number;
}

/** The question if agents that are alive are left to the next execution, although nothing is to be started. */
export interface Leaving {
  leavesAgents: true;
}

/**
 * The ids of behaviour that was changed after a release: a run that began before such a change must keep the old behaviour when it is
 * replayed. Nothing is released yet, so there are none. Once there is one, this is a union of ids such as `'late-arrivals'`.
 */
export type LoopChange = never;

/** Every effect of the loop. Ports must not reject: what goes wrong is an outcome. */
export interface RunPorts extends RunClock {
  callModel(call: ModelCall): Promise<ModelCallOutcome>;
  runTool(invocation: ToolInvocation): Promise<ToolOutcome>;
  /** Runs a child to its end, or waits for one that an earlier execution has started. */
  runChild(call: ChildCall): Promise<ChildOutcome>;
  /** Returns a run id for a new child that begins with `prefix`. Each start, also after a reset of the run, gets another one. */
  childRunId(prefix: string): string;
  /**
   * Asks the tool for the outcome of a call whose answer was lost for `reason`: its result, an error if it did not happen, or
   * `lost` again. Only for tools with `verify`.
   */
  verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome>;
  /** Calls the hooks before the calls of a response that run in a separate activity. */
  reviewCalls(response: RecordedResponse): Promise<ReviewedCalls>;
  /** Calls the hooks for the result of a call that run in a separate activity, and returns the result as they leave it. */
  afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<ToolResultOutcome>;
  /** Resolves an agent that takes over. */
  resolveHandoff(agent: string): Promise<Resolved>;
  /** Called when another agent takes over: the requests of the run are from here on those of this agent. */
  switchAgent(snapshot: AgentSnapshot): void;
  runSegment(call: SegmentCall): Promise<SegmentOutcome>;
  /** Evaluates the approval predicate of a call again, because the deps have changed since. Undefined if the call needs no approval. */
  reevaluateApproval(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined>;
  summarise(request: SummaryRequest): Promise<SummaryOutcome>;
  /** Checks new messages or an answer. Only if the snapshot has guardrails of that type. */
  checkGuardrails(check: GuardrailCheck): Promise<GuardrailOutcome>;
  /** Gives up the model call in flight, if there is one. Its outcome is `interrupted`, or the answer if it has arrived. */
  abortModelCall(): void;
  /** Has the worker check that the approver may decide. Only if the snapshot says so. */
  authorize(decision: Decision, waiting: PendingApproval): Promise<Authorization>;
  /** Calls the worker's `notify` hook for a pending approval. Only if the snapshot says so. */
  notify(waiting: PendingApproval): Promise<NotifyOutcome>;
  /** True once the run is to end as cancelled. */
  cancelRequested(): boolean;
  /** The requests of callers to the run. */
  readonly inbox: Inbox;
  /** Waits until the condition holds, the run is cancelled, or the deadline is over. The condition must not change anything. */
  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void>;
  /** True if the growth would make this execution too large, so that the run should continue in the next. */
  continueDue(growth: Growth, leaving?: Leaving): boolean;
  /** True if the run may show the changed behaviour. Must be called only when the behaviour would make a difference. */
  allows(change: LoopChange): boolean;
  /** Called after each change of the record; for observers. Must not change anything. */
  recorded?(state: RunState): void;
  /** Called after a change outside of the record that observers show. Must not change anything. */
  noted?(state: RunState): void;
}
