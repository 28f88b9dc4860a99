import { DECISION, type RefusedRequest } from './approvals.ts';
import { ANSWER_SOURCE, CONTENT_ITEM, type ContentItem } from './content.ts';
import type { RecordedUpdate } from './deps.ts';
import { ANSWERED_BY } from './fallback.ts';
import type { GuardrailNote } from './guardrails.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { LimitRaise } from './limits.ts';
import { type ActivityNotes, EVENT_PARTS } from './parts.ts';
import { NOTICE, type StopReason, type TerminalStatus } from './run.ts';
import * as s from './shape.ts';
import { isoTime } from './time.ts';
import type { StepResult } from './tool-calls.ts';
import { addEstimated, addReported, addUsage, type AggregatedUsage, ESTIMATED_USAGE, type Spent, USAGE_STATS } from './usage.ts';
import type { StepNote } from './verdicts.ts';

export const EVENT_MEMBERS = {
  /** Unique in the run. From `uuid4()` of the workflow or from the activity that made the content, never a counter. */
  id: s.TEXT,
  /** Temporal's run id of the execution that recorded it. */
  executionId: s.TEXT,
  /** ISO 8601. */
  timestamp: s.TIMESTAMP,
  /** `user`, the name of the agent, or `memory`. */
  author: s.TEXT,
  /** The parts of the event: texts, calls, results, media. */
  content: s.listOf(CONTENT_ITEM),
  /** Calls that code made, or their results. They are not in the window: the model reads what the code makes of them. */
  caller: s.optional(s.fixed('code')),
  /** The event is part of the conversation that the run was started with: no model call and no tool of this run produced it. */
  given: s.optional(s.TRUE),
  /** On the event of a model response: the usage of the call, or null if the provider did not report it. */
  usage: s.optional(s.orNull(USAGE_STATS)),
  /** On the same: the model that answered, `provider/model`. Absent: the first one of the agent. */
  answeredBy: ANSWERED_BY,
  /** On the same, if the provider did not report the usage: the estimated usage. */
  estimated: s.optional(ESTIMATED_USAGE),
  /** On the same: the cost of earlier attempts that failed after the provider had begun to answer. */
  failedAttempts: s.optional(s.anyObject<Spent>()),
  /** The model call of this event failed for good: only its usage is recorded. */
  failed: s.optional(s.object({ code: s.TEXT })),
  /** On a model response that a cancellation or a message cut off: the content is the part that had arrived. */
  interrupted: s.optional(s.TRUE),
  /**
   * On a model response: the agent that gave it has guardrails for its answers. A response that may be the answer has not passed them
   * before the run continues or ends with it, and readers show none of its text until then.
   */
  guarded: s.optional(s.TRUE),
  /** On a model response: what the provider expects back in the next request (reasoning, signatures), behind its owner (`ProviderItemsOwner`). */
  providerItems: s.optional(s.listOf(s.ANY_JSON)),
  /** On the same: the pages and documents that the provider has used for the answer. */
  sources: s.optional(s.listOf(ANSWER_SOURCE)),
  /** What was left out or changed so that the run could continue. An event of its own has no content. */
  notices: s.optional(s.listOf(NOTICE)),
  /** The parts of the window that this event removes. Its content, if any, is a summary of them. */
  compaction: s.optional(s.anyObject<Compaction>()),
  /** On tool results: other calls of the same response still wait for a decision. */
  partial: s.optional(s.TRUE),
  /** On the same: the changes of deps by these calls, in the order in which they were applied. */
  contextUpdates: s.optional(s.listOf(s.anyObject<RecordedUpdate>())),
  /** A decision about a call. The content of an event with this field, or one of the two below, is empty. */
  decision: s.optional(DECISION),
  /** A request to the run that was refused. */
  refused: s.optional(s.anyObject<RefusedRequest>()),
  /** Limits that were raised. */
  raised: s.optional(s.anyObject<LimitRaise>()),
  ...EVENT_PARTS,
  /** Checks by guardrails: of the calls of a response, or in a separate event, without content. */
  guardrails: s.optional(s.anyObject<GuardrailNote>()),
  /** In a session: the end of a turn; the content is empty. */
  turn: s.optional(s.anyObject<TurnNote>()),
  /** In a session: the conversation was emptied; the content is empty. */
  cleared: s.optional(s.TRUE),
  /** In a session: the title that a model call has given it; the content is empty. */
  title: s.optional(s.TEXT),
  /** In a session: the agent was resolved again; the content is empty. */
  refresh: s.optional(s.anyObject<RefreshNote>()),
  /** The content was recalled from the memory of the agent for the next response, or the memory was not available. */
  memory: s.optional(s.anyObject<MemoryNote>()),
  /** In the run of a program: the step that the event belongs to. */
  step: s.optional(s.anyObject<StepNote>()),
};

/**
 * One event of a run: its author, its time and its content. Events are append-only and numbered by their offset in the run.
 * There is one event per model response and one per batch of tool results.
 */
export interface Event extends s.ObjectOf<typeof EVENT_MEMBERS> {}
export const EVENT: s.Shape<Event> = s.object(EVENT_MEMBERS, {
  description: 'What happened, who did it, and when. Events are numbered by their offsets.',
});

/** The id and the time of an event. The caller supplies them, so that the domain stays deterministic. */
interface EventStamp {
  id: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Makes an event of the run `executionId`, empty unless content is given. */
export function newEvent({ id, now }: EventStamp, executionId: string, author: string, content: ContentItem[] = []): Event {
  return { id, executionId, timestamp: isoTime(now), author, content };
}

/**
 * The changes by which an event shrinks the window. They are recorded, so that every process that folds the events gets the same
 * window. The record of events itself keeps everything.
 */
export interface Compaction extends ActivityNotes {
  /** Tool results that are replaced by a marker: the offset of their event and their index in its content. */
  evicted?: [offset: number, index: number][];
  /**
   * The events between `head` and `tail` are replaced by the content of this event. Both are offsets of events that stay; `head`
   * is null for the beginning of the window, and `tail` for its end.
   */
  summarised?: { head: number | null; tail: number | null };
  /** The offsets of events with entries of a memory that are taken out. */
  dropped?: number[];
}

/** The outcome of resolving the agent of a session again, as an event of the record: its new digest, or why the agent stays as it was. */
export type RefreshNote = { digest: string } | { failed: { code: string; message: string } };

/** The end of a turn, as an event of the record. The answer is in the event before. */
export interface TurnNote {
  /** 1-based. */
  number: number;
  /** How the turn ended. */
  status: TerminalStatus;
  /** Why it ended. */
  stopReason: StopReason;
  /** The error of a turn that failed. */
  error?: string;
  /** The ids of accepted messages that the next turn answers. Absent if there are none. */
  unanswered?: string[];
}

/** The note on an event about the memory: the number of entries that it gave, or why it was not available. */
export type MemoryNote = { entries: number } | { unavailable: string };

/** The events, steps, state and result of a run. One plain object, owned by the loop. */
export interface ExecutionContext {
  /** The Temporal execution that was read last. */
  executionId: string;
  /** Append-only; the index of an event is its offset. */
  events: Event[];
  /** The number of steps that are complete. */
  currentStep: number;
  /** The state that tools keep for the run. */
  state: JsonObject;
  /** The answer; null until the run has one. */
  finalResult: JsonValue | null;
}

/** Returns the context of a run that has not begun. */
export function newExecutionContext(executionId: string): ExecutionContext {
  return { executionId, events: [], currentStep: 0, state: {}, finalResult: null };
}

/** Appends an event to the record. */
export function addEvent(context: ExecutionContext, event: Event): void {
  context.events.push(event);
}

/** Moves on to the next step. */
export function incrementStep(context: ExecutionContext): void {
  context.currentStep += 1;
}

/** Sets a key of the state. Keys may come from a model, so `__proto__` is a key like any other. */
export function setState(context: ExecutionContext, key: string, value: JsonValue): void {
  Object.defineProperty(context.state, key, { value, writable: true, enumerable: true, configurable: true });
}

/** One line of the exported or archived record of a run: an event with its offset, or a step with its index. */
export type RunRecord = ({ type: 'event'; offset: number } & Event) | ({ type: 'step'; index: number } & StepResult);

/** A range of the record of a run. */
interface RecordedStretch {
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  /** Index of the first step. */
  firstStep: number;
  steps: readonly StepResult[];
}

/** Yields events and steps in the order of their recording: each step follows the event that completed it. */
export function* recordsInOrder({ firstOffset, events, firstStep, steps }: RecordedStretch): Generator<RunRecord> {
  let next = 0;
  const step = function* (until: number): Generator<RunRecord> {
    for (; next < Math.min(until, steps.length); next += 1) {
      const recorded = steps[next];
      if (recorded !== undefined) yield { type: 'step', index: firstStep + next, ...recorded };
    }
  };
  for (const [index, event] of events.entries()) {
    yield { type: 'event', offset: firstOffset + index, ...event };
    if (completesStep(event)) yield* step(next + 1);
  }
  yield* step(steps.length);
}

/** True for the event at which a model call of an agent ends, with an answer or a part of one, or for good without. */
export function endsModelCall({ usage, compaction, title }: Pick<Event, 'usage' | 'compaction' | 'title'>): boolean {
  return usage !== undefined && compaction === undefined && title === undefined;
}

/** True for the event of an answer of a model, also of a part of one. Its id is the same however the record is read. */
export function isResponse(event: Pick<Event, 'usage' | 'compaction' | 'title' | 'failed'>): boolean {
  return endsModelCall(event) && event.failed === undefined;
}

/** Returns the offsets of the events that checks have refused, and that this event takes out of the window. */
export function blockedBy({ guardrails }: Pick<Event, 'guardrails'>): readonly number[] {
  return guardrails?.blocked ?? [];
}

/** True for an event that completes a step: the last results of the calls of a response, or a response without calls. */
export function completesStep(event: Event): boolean {
  const { content, given, interrupted, partial, caller } = event;
  // The results of calls of code are parts of the step that runs the code.
  if (given || caller === 'code') return false;
  if (content.some(({ type }) => type === 'tool_result')) return !partial;
  return isResponse(event) && !interrupted && !content.some(({ type }) => type === 'tool_call');
}

/**
 * Adds the usage that an event records to `total`. The event of a program at the end of a child repeats the usage of that
 * child, whose own events record it: it counts there.
 */
export function addUsageOfEvent(total: AggregatedUsage, { usage, estimated, failedAttempts, step }: Event): AggregatedUsage {
  if (step?.child !== undefined) return total;
  const withCall = usage === undefined ? total : addUsage(total, usage);
  const withEstimate = addEstimated(withCall, estimated);
  if (failedAttempts === undefined) return withEstimate;
  return addEstimated(addReported(withEstimate, failedAttempts.reported ?? null), failedAttempts.estimated);
}
