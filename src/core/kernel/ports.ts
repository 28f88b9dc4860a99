import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalRequirement, Decision, PendingApproval } from '../domain/approvals.ts';
import type { SpilledContent, ToolCall, ToolResult } from '../domain/content.ts';
import type { ContextOperation } from '../domain/deps.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { INTERRUPTED_CALL, type NotRun, OVER_CALL_LIMIT, RUNNING_CALL, unknownOutcome, type Verified } from '../domain/tool-calls.ts';
import type { WaitDeadline } from '../domain/time.ts';
import type { Spent } from '../domain/usage.ts';
import type { Window } from '../domain/window.ts';
import type { Inbox } from './inbox.ts';
import type { RunClock, RunState, WithSlices } from './run-state.ts';

// Shared state: the effects of all phases.

/** The conversation by reference: the window of the run after `through` events. */
export interface Conversation {
  /** The number of events of the record. */
  through: number;
  /** The id of the last event. The activity that assembles the conversation checks it. */
  lastEventId: string;
}

/** One model call, by reference. */
export interface ModelCall extends Conversation {
  /** 1-based. */
  step: number;
  /** The ids of the tool results in the last event, in order, if activities produced all of them. */
  resultIds?: string[];
  /** The ids of all events that are new to the model except the last, so that the history contains them. */
  earlierIds?: string[];
  /** The number of events since the last response that are not in the window: calls made by code, and their results. */
  skippedEvents?: number;
  /** The digest of the events since the last response, if the worker process has received them from the workflow. */
  news?: string;
  /** Further fields of the input of its activity, from capabilities. */
  input?: JsonObject;
  /** The number of events that the model has not seen yet. */
  newEvents: number;
  /** The agent's tool choice for the first step of a turn applies to this call. */
  firstStep?: true;
  /** The previous call failed. Since then, the conversation has been shortened, or another cause has been repaired. */
  shortened?: true;
  /** The last answer was incomplete, and the model continues it. */
  paused?: true;
  /** The names of the hosted tools that are not offered. */
  withoutHosted?: string[];
  /** The conversation has been idle for longer than providers cache it by default. */
  hasRested?: true;
  /** Other work of the run is in progress during the call. */
  beside?: true;
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

/** A tool call that may run: the tool exists and the arguments are valid. */
export interface ToolInvocation {
  step: number;
  call: ToolCall;
  tool: ToolSnapshot;
  /** Offset of the event of the call; `index` is the index of the call in the content of that event. */
  offset: number;
  index: number;
  eventId: string;
  /** A decision or a gate changed the arguments of `call`: they differ from the model's. */
  edited?: true;
  /** Other calls of the response wait for a decision, so this result may be recorded before theirs. */
  timed?: true;
  /** The maximum milliseconds of all attempts of the call together. Default: each attempt has only the time of its tool. */
  withinMs?: number;
}

/** `slices`: further data of capabilities about the call. It is carried over like the rest of the outcome. */
export type ToolOutcome =
  | ({
      type: 'result';
      status: 'success' | 'error';
      content: JsonValue[];
      /** The location of the whole content, if `content` is only its preview. */
      spilled?: SpilledContent;
      /** Texts about the call that the model reads after the result. */
      notes?: string[];
      /** The call did not run, for this reason. */
      notRun?: NotRun;
      /** Milliseconds, or null if the tool never started. */
      durationMs: number | null;
      /** The time of the result in milliseconds since the epoch, if it may be recorded before other results of its response. */
      endedAt?: number;
      /** The id in the caches of transcripts. Absent if no activity produced the result. */
      resultId?: string;
      /** Keys to set in the run's state. */
      state?: JsonObject;
      /** The call's changes of deps; after they are applied, only the changes that took effect. */
      contextUpdate?: ContextOperation[];
      /** The changes of deps are applied. */
      applied?: true;
      /** The tool asks the model to try again. */
      asksRetry?: true;
      /** The outcome is unknown, because the answer was lost for this reason: the call may have taken effect. */
      lost?: string;
      /** The report of the tool's `verify`, if the call's answer was lost. */
      verified?: Verified;
      /** The call failed because the time of one attempt was up, or that of the whole call. */
      timedOut?: 'attempt' | 'call';
      /** No worker had the tool before the wait ended: the run ends. */
      noWorker?: { code: ErrorCode; message: string };
      /** The time of recording (ISO 8601), if the result was recorded before other results of its response. */
      recordedAt?: string;
    } & WithSlices)
  /** The call was running when the run was cancelled. `lost`: its answer had been lost before, for this reason. */
  | ({ type: 'cancelled'; recordedAt?: string; lost?: string } & WithSlices)
  /**
   * The call may have started, and its outcome is unknown. `reason` says how its answer was lost. Only for tools with the effect `once`.
   */
  | { type: 'lost'; reason: string; recordedAt?: never };

export type ToolResultOutcome = Extract<ToolOutcome, { type: 'result' }>;

/** The outcome of checking that an approver may decide. `as` is the verified identity. */
export type Authorization =
  | { type: 'authorized'; as: string }
  | { type: 'refused'; reason: string }
  /** The check was not completed because the run is cancelled. */
  | { type: 'cancelled' };

/** A decision before it is applied. `problem`: why its edited arguments could not be parsed, which refuses it. */
export type GivenDecision = Decision & { problem?: string };

/** The approximate growth of the history from the next commands of the run. */
export interface Growth {
  events: number;
  bytes: number;
}

/** Asks whether running agents are left to the next execution although nothing is about to start. */
export interface Leaving {
  leavesAgents: true;
}

/**
 * The ids of behavior changes made after a release: a run that began before such a change must keep the old behavior on replay. Nothing has
 * been released yet, so there are none. Later this is a union of ids such as `'late-arrivals'`.
 */
type LoopChange = never;

/** Every effect of the loop itself; capabilities have more. Ports must not reject: failures are outcomes. */
export interface RunPorts extends RunClock {
  callModel(call: ModelCall): Promise<ModelCallOutcome>;
  runTool(invocation: ToolInvocation): Promise<ToolOutcome>;
  /**
   * Asks the tool for the outcome of a call whose answer was lost for `reason`: returns its result, an error if the call did not take
   * effect, or `lost` again. Only for tools with `verify`.
   */
  verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome>;
  /** Called when the outcome of a call remains unknown, because its answer was lost for `reason`: operators want to know at once. */
  outcomeUnknown?(invocation: ToolInvocation, reason: string): void;
  /** Called when another agent takes over: from here on, the run's requests are made for this agent. */
  switchAgent(snapshot: AgentSnapshot): void;
  /** Evaluates the approval predicate of a call again because the deps have changed. Undefined if the call needs no approval. */
  reevaluateApproval(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined>;
  /** Gives up the model call in flight, if any. Its outcome is `interrupted`, or the answer if that has already arrived. */
  abortModelCall(): void;
  /** Returns decisions with edited arguments as their tools run with them; undefined if no tool changes them. */
  parseEdits(decisions: readonly Decision[]): Promise<readonly GivenDecision[]> | undefined;
  /** Has the worker check that the approver may decide. Called only if the snapshot requires it. */
  authorize(decision: Decision, waiting: PendingApproval): Promise<Authorization>;
  /** True for a call of which an attempt was made outside of the loop: `runTool` completes it. Absent: there are none. */
  hasBegun?(invocation: Pick<ToolInvocation, 'offset' | 'index'>): boolean;
  /** True once the run must end as cancelled. */
  cancelRequested(): boolean;
  /** The requests of callers to the run. */
  readonly inbox: Inbox;
  /** Waits until the condition holds, the run is cancelled, or the deadline passes. The condition must not change anything. */
  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void>;
  /** True if the growth would make this execution too large, so that the run should continue in the next. */
  continueDue(growth: Growth, leaving?: Leaving): boolean;
  /** True if the run may use the changed behavior. Must be called only where the behavior makes a difference. */
  allows(change: LoopChange): boolean;
  /** Called after each change of the record, for observers. Must not change anything. */
  recorded?(state: RunState): void;
  /** Called after a change outside the record that observers show. Must not change anything. */
  noted?(state: RunState): void;
}

// Tool phase: results that do not come from a tool.

type Result = ToolOutcome & { type: 'result' };

/** Returns a result that does not come from a tool. */
export function callResult(status: 'success' | 'error', ...content: JsonValue[]): Result {
  return { type: 'result', status, content, durationMs: 0 };
}

/** Returns the error result of a call that did not run. */
export function notRunResult(reason: NotRun, ...content: JsonValue[]): Result {
  return { ...callResult('error', ...content), durationMs: null, notRun: reason };
}

/** Returns the result of a call that never started. */
export function interruptedResult(): Result {
  return notRunResult('not_started', INTERRUPTED_CALL);
}

/** Returns the result of a call that was given up while it was running: when the run was cancelled, or for another reason in `text`. */
export function runningResult(text = RUNNING_CALL): Result {
  return { ...callResult('error', text), durationMs: null };
}

/** Returns the result of a call that may have taken effect, because its answer was lost. `reason`: what a person has found out. */
export function unknownResult(toolName: string, lost: string, reason?: string): Result {
  const text = unknownOutcome(toolName, lost);
  return { ...callResult('error', reason === undefined ? text : `${text} ${reason}`), durationMs: null };
}

/** True for the result of a call for which the limits had no room. */
export function isOverLimit(outcome: ToolOutcome | null | undefined): boolean {
  return outcome?.type === 'result' && outcome.durationMs === null && outcome.content[0] === OVER_CALL_LIMIT;
}

// Tool phase: calls that no worker could make.

/** Returns the error that ends the run if no worker could make a call, or undefined. */
export function noWorker(outcomes: readonly (ToolOutcome | null)[]): (ToolOutcome & { type: 'result' })['noWorker'] {
  const found = outcomes.find((outcome) => outcome?.type === 'result' && outcome.noWorker !== undefined);
  return found?.type === 'result' ? found.noWorker : undefined;
}

// Tool phase: results that are already in the window.

/** Returns the results of a response's calls that are already in the window, by call id. */
export function recordedResults({ events }: Pick<Window, 'events'>, responseId: string): Map<string, ToolResult> {
  const index = events.findIndex(({ id }) => id === responseId);
  const after = index < 0 ? [] : events.slice(index + 1);
  return new Map(
    after.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result').map((item) => [item.toolCallId, item] as const)),
  );
}

/**
 * Returns a recorded result in the form that is carried over: its content is in the window, and only the presence of its update matters.
 */
export function withoutRecorded({ notes: _, ...result }: Result): Result {
  return { ...result, content: [], ...(result.contextUpdate === undefined ? {} : { contextUpdate: [] }) };
}
