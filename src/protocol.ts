import type { ContentPart } from './domain/content.ts';
import type { Event } from './domain/event.ts';
import type { JsonObject, JsonValue } from './domain/json.ts';
import type { RecordedResponse } from './domain/recorded-response.ts';
import type { RunStatus } from './domain/run-status.ts';
import type { StepResult } from './domain/step.ts';
import type { AggregatedUsage } from './domain/usage.ts';

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

/** The names of Longhaul's own activities; every other activity of a run bears the name of its tool. */
export const ACTIVITIES = { resolveAgent: 'resolveAgent', callModel: 'callModel', readResult: 'readResult' } as const;

/** What starts a run: plain JSON, the same from the client, the CLI, the Temporal UI and a Schedule. */
export interface RunInput {
  /** The name of the agent. */
  agent: string;
  input: string | ContentPart[];
  deps?: JsonObject;
  /** Overrides the agent's step limit. */
  maxIterations?: number;
}

/** Input of `resolveAgent`. Deps above 1 kB are read from the run by query. */
export interface ResolveAgentInput {
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
export interface CallModelInput {
  /** Digest of the snapshot. */
  agent: string;
  /** The number of events that form the conversation. */
  through: number;
  lastEventId: string;
  /** The last event is a batch of these tool results. */
  results?: string[];
  final?: true;
}

/** Result of `callModel`. */
export type CallModelOutput = { type: 'response'; response: RecordedResponse } | { type: 'aborted'; partial?: RecordedResponse };

/** Input of a tool's activity. `arguments` and `deps` are here up to 1 kB each, for who reads the Temporal UI; larger ones go by reference. */
export interface RunToolInput {
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
  /** Offset of the first event of this page. */
  from: number;
  events: Event[];
  /** Events in all; the next page begins at `from + events.length` while that is less. */
  total: number;
}

/** Answer of the `steps` query. */
export interface StepsPage {
  version: 1;
  /** Index of the first step of this page. */
  from: number;
  steps: StepResult[];
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
