import type { ContentPart, SpilledContent } from './domain/content.ts';
import type { Event } from './domain/event.ts';
import type { JsonObject, JsonValue } from './domain/json.ts';
import type { RecordedResponse } from './domain/recorded-response.ts';
import type { RunStatus } from './domain/run-status.ts';
import type { StepResult } from './domain/step.ts';
import type { AggregatedUsage, UsageStats } from './domain/usage.ts';
import type { Folded, WindowEvent } from './domain/window.ts';
import type { RunCarry } from './loop/run-carry.ts';

/**
 * The contract between the two sides of the sandbox: names and shapes of the workflow, its queries and its
 * activities. Everything here is plain JSON and versioned; adding an optional field is compatible, nothing else is.
 */

/** The workflow type of a run. */
export const AGENT_RUN = 'agentRun';

/** The task queue that client, worker and CLI use unless told otherwise. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

/** The keys of the search attributes, both of type Keyword. */
export const SEARCH_ATTRIBUTES = { agent: 'LonghaulAgent', status: 'LonghaulStatus' } as const;

/** The key of the memo that holds the result of a cancelled run, whose close cannot carry one. */
export const RESULT_MEMO = 'longhaulResult';

/** The names of the queries that a run answers. */
export const QUERIES = {
  status: 'status',
  context: 'context',
  steps: 'steps',
  snapshot: 'snapshot',
  /** Between a run and its own activities: the events they lack. */
  transcript: 'transcript',
  /** Between a run and its own activities: deps and state. */
  data: 'data',
} as const;

/** The names of the Updates that a run takes. */
export const UPDATES = { send: 'send', pause: 'pause', resume: 'resume' } as const;

/** The names of the Signals that a run takes, for callers that can only signal. */
export const SIGNALS = { send: 'send', cancelReason: 'cancelReason' } as const;

/** The names of Longhaul's own activities; every other activity of a run bears the name of its tool. */
export const ACTIVITIES = {
  resolveAgent: 'resolveAgent',
  callModel: 'callModel',
  summarise: 'summarise',
  archiveEvents: 'archiveEvents',
  readResult: 'readResult',
} as const;

/** The name of a handler of a run: as it is for a run that is a workflow of its own, after the key for one inside a workflow of the user. */
export function scopedName(name: string, key: string | undefined): string {
  return key === undefined ? name : `${key}.${name}`;
}

/** What starts a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export interface RunInput {
  /** The name of the agent. */
  agent: string;
  input: string | ContentPart[];
  deps?: JsonObject;
  /** Overrides the agent's step limit. */
  maxIterations?: number;
}

/** What starts the next execution of a run: all of it that goes on. Written by the run itself. */
export interface CarriedInput {
  carry: RunCarry;
}

/** Input of every activity of a run: which run of the workflow it is, where that is not the workflow itself. */
export interface OfRun {
  /** The key of a run inside a workflow of the user. */
  run?: string;
}

/** Input of `resolveAgent`. Deps above 1 kB are read from the run by query. */
export interface ResolveAgentInput extends OfRun {
  agent: string;
  deps?: JsonObject;
  depsByReference?: true;
  maxIterations?: number;
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

/** Result of `summarise`. */
export interface SummariseOutput {
  /** The id of the event of the summary. */
  id: string;
  text: string;
  usage: UsageStats | null;
}

/** Input of `archiveEvents`: the events from `from` up to, and without, `through`. */
export interface ArchiveEventsInput extends OfRun {
  from: number;
  through: number;
}

/** Argument of the Update and the Signal `send`. */
export interface SendInput {
  /** The caller's own, at most 64 characters: a message of the same id is taken once. */
  id: string;
  content: string | ContentPart[];
}

/** Argument of the Signal `cancelReason`, which goes ahead of a request to cancel whose own reason would be clear text. */
export interface CancelReasonInput {
  reason: string;
}

/** Answer of the Update `send`. */
export interface MessageReceipt {
  version: 1;
  id: string;
  /** `duplicate`: a message of that id has been accepted before, and this one changes nothing. */
  status: 'queued' | 'duplicate';
  /** Messages that wait to be taken in. */
  queued: number;
}

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt {
  version: 1;
  paused: boolean;
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse };

/** Input of a tool's activity. `arguments` and `deps` are here up to 1 kB each, for who reads the Temporal UI; larger ones go by reference. */
export interface RunToolInput extends OfRun {
  agentName: string;
  callId: string;
  step: number;
  /** Where the call is: offset of the event and place in its content. */
  at: [offset: number, index: number];
  /** The id of that event. */
  eventId: string;
  arguments?: JsonObject;
  deps?: JsonObject;
  /** Present only where the run has state. */
  state?: JsonObject;
  /** Deps or state are too large for the input: ask the run. */
  dataByReference?: true;
}

/** Result of a tool's activity. */
export interface RunToolOutput {
  /** The id of this result in the transcript caches. */
  id: string;
  content: JsonValue[];
  isError?: true;
  /** Where the whole content is, where `content` is its preview. */
  spilled?: SpilledContent;
  durationMs: number;
  state?: JsonObject;
}

/** Answer of the `status` query. */
export interface StatusView {
  version: 1;
  runId: string;
  agentName: string;
  status: RunStatus;
  currentStep: number;
  maxIterations: number;
  usage: AggregatedUsage;
  toolCallsTotal: number;
  events: number;
  /** The executions of the run so far. */
  executions: number;
  /** Messages that wait to be taken in. */
  queued: number;
  /** ISO 8601. */
  startTime: string;
}

/** Answer of the `context` query: the ExecutionContext, with a page of its events. */
export interface ContextPage {
  version: 1;
  executionId: string;
  status: RunStatus;
  currentStep: number;
  state: JsonObject;
  finalResult: JsonValue | null;
  /** Offset of the first event that the execution which answers has recorded: those before are in the executions before. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  events: Event[];
  /** Where the first event of the page is too large for any answer, and the page therefore empty: the id of that event. */
  nextId?: string;
  /** Events in all; the next page begins at `from + events.length` while that is less. */
  total: number;
}

/** Answer of the `steps` query. */
export interface StepsPage {
  version: 1;
  /** Index of the first step that the execution which answers has recorded. */
  firstIndex: number;
  /** Index of the first step of this page. */
  from: number;
  steps: StepResult[];
  total: number;
}

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
