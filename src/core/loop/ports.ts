// Shared state: the effects of all phases.

import type { ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { SpilledContent, ToolCall } from '../domain/content/content.ts';
import type { ApprovalRequirement, Decision, PendingApproval } from '../domain/approvals/approval.ts';
import type { ContextOperation } from '../domain/record/context-update.ts';
import type { ErrorCode } from '../domain/errors/error.ts';
import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import type { RecordedResponse } from '../domain/model/recorded-response.ts';
import type { Verified } from '../domain/record/step.ts';
import type { Spent, UsageStats } from '../domain/model/usage.ts';
import type { RunClock } from './state/clock.ts';
import type { Inbox } from './state/inbox.ts';
import type { RunState } from './state/run-state.ts';

/** The conversation by reference: the window of the run after `through` events. */
export interface Conversation {
  /** The number of events of the record. */
  through: number;
  /** The id of the last of them: whoever assembles the conversation checks it. */
  lastEventId: string;
}

/** One model call, by reference. */
export interface ModelCall extends Conversation {
  /** 1-based. */
  step: number;
  /** Where the last event is a batch of tool results that activities produced: the ids of those results, in order. */
  resultIds?: string[];
  /** Where more than one event is new to the model: the ids of all but the last, so that history alone tells them. */
  earlierIds?: string[];
  /** How many events the model has not seen yet. */
  newEvents: number;
  /** The attempt after the step limit: without tools, asking for the best final answer. */
  final: boolean;
}

/** How a model call ended. Nothing about a model is thrown: every ending is data. */
export type ModelCallOutcome =
  | { type: 'response'; response: RecordedResponse }
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse }
  /** Given up for a message that interrupts it. */
  | { type: 'interrupted'; partial?: RecordedResponse };

/** One tool call that may run: the tool exists and the arguments fit. */
export interface ToolInvocation {
  step: number;
  call: ToolCall;
  tool: ToolSnapshot;
  /** Offset of the event that holds the call, and its place in that event. */
  offset: number;
  index: number;
  /** The id of that event. */
  eventId: string;
  /** The arguments of `call` are those of a decision, not the model's. */
  edited?: true;
}

/** How a tool call ended. */
export type ToolOutcome =
  | {
      type: 'result';
      status: 'success' | 'error';
      content: JsonValue[];
      /** Where the whole content is, where `content` is its preview. */
      spilled?: SpilledContent;
      /** Milliseconds, or null where the tool never started. */
      durationMs: number | null;
      /** Where an activity produced it: its id in the transcript caches. */
      resultId?: string;
      /** Keys to set in the run's state. */
      state?: JsonObject;
      /** What the call changes of the deps; from the moment in which it was applied on, what it has changed. */
      contextUpdate?: ContextOperation[];
      /** The update is applied. */
      applied?: true;
      /** The tool asks the model to try again. */
      asksRetry?: true;
      /** The call may have taken effect, and nobody knows. */
      isUnknown?: true;
      /** The answer was lost, and this is what its tool found out. */
      verified?: Verified;
      /** No worker had the tool, however long others were waited for: the run ends. */
      noWorker?: { code: ErrorCode; message: string };
      /** Where the result was recorded ahead of others of its response: when. ISO 8601. */
      recordedAt?: string;
    }
  /** It was running when the run was cancelled. `isUnknown`: its answer had been lost before. */
  | { type: 'cancelled'; recordedAt?: string; isUnknown?: true }
  /** It may have started, and nobody knows what came of it; `reason` says how its answer was lost. Only of a tool whose effect happens once. */
  | { type: 'lost'; reason: string; recordedAt?: never };

/** The part of the window that is to be summarised: what is between two of its events (see `Compaction`). */
export interface SummaryRequest extends Conversation {
  head: number;
  tail: number | null;
  /** How many events that is. */
  events: number;
  /** Bytes of JSON that the text of the summary may have. */
  maxBytes: number;
}

/** How a summary ended. */
export type SummaryOutcome =
  | { type: 'summary'; id: string; text: string; usage: UsageStats | null; failedAttempts?: Spent }
  | { type: 'failed'; code: ErrorCode; message: string; spent?: Spent }
  | { type: 'cancelled'; partial?: RecordedResponse };

/** Whether whoever decides may. */
export type Authorization =
  | { type: 'authorized'; as: string }
  | { type: 'refused'; reason: string }
  /** Nobody could say, because the run is cancelled. */
  | { type: 'cancelled' };

/** The outcome of a notification. */
export type NotifyOutcome =
  | { type: 'told' }
  /** For good. */
  | { type: 'failed'; message: string }
  /** The run is cancelled. */
  | { type: 'cancelled' };

/** When a wait ends at the latest. */
export interface WaitDeadline {
  /** Milliseconds since the epoch. */
  at: number;
  /** What it is the deadline of, for the timer in the Temporal UI. */
  summary: string;
}

/** What the next commands of the run add to its history, about. */
export interface Growth {
  events: number;
  bytes: number;
}

/** Behaviour that runs which began without it must not show when they are replayed. */
export type LoopChange =
  | 'compaction'
  | 'bounded-fan-out'
  | 'refused-requests'
  | 'late-arrivals'
  | 'deadline-among-calls'
  | 'another-worker';

/** Every effect of the loop. Ports must not reject: what goes wrong is an outcome. */
export interface RunPorts extends RunClock {
  callModel(call: ModelCall): Promise<ModelCallOutcome>;
  runTool(invocation: ToolInvocation): Promise<ToolOutcome>;
  /** Asks the tool what became of a call that is lost, for the reason: its result, that it did not happen, or again that nobody knows. Only where the tool can be asked. */
  verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome>;
  /** Asks a predicate again whether a call needs a decision, now that the deps are others than it was asked with. */
  askTerms(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined>;
  summarise(request: SummaryRequest): Promise<SummaryOutcome>;
  /** Asks whether a decision is by somebody who may decide. Only where the snapshot says that somebody is to be asked. */
  authorize(decision: Decision, waiting: PendingApproval): Promise<Authorization>;
  /** Has the worker's `notify` tell that something waits. Only if the snapshot says so. */
  notify(waiting: PendingApproval): Promise<NotifyOutcome>;
  /** True once the run is to end as cancelled. */
  cancelRequested(): boolean;
  /** What is said to the run from outside. */
  readonly inbox: Inbox;
  /** Waits until the condition holds, the run is cancelled, or the deadline is over. The condition must only look. */
  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void>;
  /** True where this execution should not take on the growth: the run then goes on in the next. */
  continueDue(growth: Growth): boolean;
  /** True where the run may behave in that way. To be asked only when it would. */
  allows(change: LoopChange): boolean;
  /** Called after each change of the record; for observers. Must not change anything. */
  recorded?(state: RunState): void;
  /** Called after a change that is no part of the record, and that observers show. Must not change anything. */
  noted?(state: RunState): void;
}
