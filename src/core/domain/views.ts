import type { AgentSnapshot } from './agent.ts';
import { APPROVAL_VIEW, type ApprovalView, DECISION, type RememberedDecision } from './approvals.ts';
import { SPILLED_CONTENT } from './content.ts';
import type { JsonObject } from './json.ts';
import { RUN_LIMITS } from './limits.ts';
import type { Missing } from './missing-definitions.ts';
import type { ModelRequest } from './model.ts';
import { EVENT, type Event } from './record.ts';
import { ARCHIVING, NOT_ARCHIVED, RUN_STATUS, RUN_SUBJECT, type RunStatus, type RunSubject, TERMINAL_STATUS } from './run.ts';
import { SESSION_VIEW } from './sessions.ts';
import * as s from './shape.ts';
import { CALL_FACT_MEMBERS, CALLS_NOT_RUN, type StepResult } from './tool-calls.ts';
import { AGGREGATED_USAGE } from './usage.ts';

const REFUSED_CALL = s.object({
  /** The code of the error, such as `model_rate_limited`. */
  code: s.TEXT,
  /** The number of refusals so far. */
  times: s.NUMBER,
  /** The time of the next attempt, ISO 8601. Absent if the server does not say it. */
  nextAttemptAt: s.optional(s.TIMESTAMP),
  /** The time at which the call is given up, ISO 8601. */
  givesUpAt: s.TIMESTAMP,
});

/** A model call that its provider refuses (429, 5xx), and that is tried again for the patience of the agent. */
export interface RefusedCall extends s.ValueOf<typeof REFUSED_CALL> {}

const BATCHED_CALL = s.object({
  /** The workflow that collects the calls of the provider into batches. */
  collector: s.TEXT,
  /** The time since which the call waits, ISO 8601. */
  since: s.TIMESTAMP,
  /** The number of the batch among those of the collector. Absent: the call is in no batch yet. */
  batch: s.optional(s.NUMBER),
  /** The id that the provider has given the batch. */
  id: s.optional(s.TEXT),
});

/** A model call that waits for a batch of its provider. */
export interface WaitingForBatch extends s.ValueOf<typeof BATCHED_CALL> {}

const RUNNING_CALL = s.object({
  /**
   * The name of the tool; `callModel` for the model, `summarise` for a summary or a title, `askStep` and `useMemory` for steps of a program, `archiveEvents` for the archive, `notifyWaiting` for `notify`, `notifyEnded`
   * for the function of that name.
   */
  name: s.TEXT,
  /** 1-based. */
  attempt: s.NUMBER,
  /** The details of the last heartbeat: `context.heartbeat(progress)` of a tool. */
  progress: s.optional(s.ANY_JSON),
  /** The error of the attempt before. */
  lastFailure: s.optional(s.TEXT),
  /** Set while a model call waits for its next attempt because the provider has refused it. */
  refused: s.optional(s.shape<RefusedCall>(REFUSED_CALL)),
  /** Set while a model call waits for a batch. */
  waitsForBatch: s.optional(s.shape<WaitingForBatch>(BATCHED_CALL)),
});

/** A call of a tool, the model, the archive or a function of the worker that is in progress or waits for its next attempt. */
export interface RunningCall extends s.ValueOf<typeof RUNNING_CALL> {}

const POSTPONED = s.object({
  /** The id of the call. */
  callId: s.TEXT,
  /** The name of the tool. */
  toolName: s.TEXT,
  /** ISO 8601. */
  until: s.TIMESTAMP,
  /** Such as `quiet hours until 07:00 (Europe/Berlin)`. */
  reason: s.TEXT,
});

/** A call of a tool that only the time holds back. */
export interface PostponedCall extends s.ValueOf<typeof POSTPONED> {}

const STATUS_MEMBERS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the run. */
  runId: s.TEXT,
  /** The agent that the run began with. */
  agentName: s.TEXT,
  /** The agent that acts. Only if the run was handed over. */
  currentAgent: s.optional(s.TEXT),
  /** What an approver needs to know about the run. */
  about: RUN_SUBJECT,
  /** What the run is doing, or how it ended. */
  status: RUN_STATUS,
  /** The number of steps that are complete: 0 before the first. */
  currentStep: s.NUMBER,
  /** The usage of the run itself; that of a program includes its descendants that have ended. */
  usage: AGGREGATED_USAGE,
  /** The usage of the run and of its descendants that have ended. Absent if there are none, and for a program: it is then `usage`. */
  treeUsage: s.optional(AGGREGATED_USAGE),
  /** The number of calls that tools executed. */
  toolCallsTotal: s.NUMBER,
  /** The number of calls that did not run, by reason and name. Absent if all have run. */
  toolCallsNotRun: s.optional(CALLS_NOT_RUN),
  /** The number of recorded events. */
  events: s.NUMBER,
  /** The number of executions of the run so far. */
  executions: s.NUMBER,
  /** The number of messages in the queue. */
  queued: s.NUMBER,
  /** The names of the tools whose calls wait for a decision. */
  waitingFor: s.listOf(s.TEXT),
  /** The calls that wait until a time, which nobody has to decide about. Absent if there are none. */
  postponed: s.optional(s.listOf<PostponedCall>(POSTPONED)),
  /** The current limits. Undefined until the agent is resolved. */
  limits: s.optional(RUN_LIMITS),
  /** The turns and the limits, if the run is a session. */
  session: s.optional(SESSION_VIEW),
  /** The ids of the children that the run waits for. Absent if there are none. */
  children: s.optional(s.listOf(s.TEXT)),
  /** The ids of those of them that wait for a person. Absent if there are none. */
  waitingChildren: s.optional(s.listOf(s.TEXT)),
  /** The ids of the children that have ended in the current step. Absent if there are none. */
  endedChildren: s.optional(s.listOf(s.TEXT)),
  /** The number of tool calls that have started: limits count these. */
  toolCallsStarted: s.NUMBER,
  /** The newest error of a tool, an activity or a request. */
  lastError: s.optional(s.TEXT),
  /** The definitions that no worker which took the run's tasks had so far. Absent if there are none. */
  missing: s.optional(s.listOf(s.anyObject<Missing>())),
  /** The events that the archive is storing: the run continues, or ends, afterwards. */
  archiving: s.optional(ARCHIVING),
  /** The events of the run that are not in the archive, because storing them failed. */
  notArchived: s.optional(s.listOf(NOT_ARCHIVED)),
  /** The remote calls in progress, as reported by the server. Only the client adds them, and only if there are some. */
  running: s.optional(s.listOf<RunningCall>(RUNNING_CALL)),
  /** ISO 8601. */
  startTime: s.TIMESTAMP,
  /**
   * Present while the run waits for a burst: the time of the last outcome that the run has, ISO 8601. What the calls of the burst have given since
   * then follows at its end.
   */
  asOf: s.optional(s.TIMESTAMP),
};

/** Answer of the `status` query. */
export interface StatusView extends s.ObjectOf<typeof STATUS_MEMBERS> {}
export const STATUS_VIEW: s.Shape<StatusView> = s.object(STATUS_MEMBERS);

/** Answer of the `approvals` query. */
export interface ApprovalsPage {
  version: 1;
  runId: string;
  agentName: string;
  /** What an approver needs to know about the run. */
  about: RunSubject;
  status: RunStatus;
  /** Index of the first pending approval of this page. */
  from: number;
  pending: ApprovalView[];
  /** The number of all pending approvals. */
  total: number;
  /** Decisions that apply to further calls. */
  remembered: RememberedDecision[];
  /** The ids of the children that the run waits for, with approvals of their own. Absent if there are none. */
  children?: string[];
}

export const CONTEXT_PAGE = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** Temporal's run id of the execution that has answered. */
  executionId: s.TEXT,
  /** What the run is doing, or how it ended. */
  status: RUN_STATUS,
  /** The number of steps that are complete: 0 before the first. */
  currentStep: s.NUMBER,
  /** The state of the run, as tools have set it by `context.setState`. */
  state: s.JSON_OBJECT,
  /** The current deps of the run. */
  deps: s.JSON_OBJECT,
  /** The answer; null until the run has one. */
  finalResult: s.ANY_JSON,
  /** Offset of the first event of the execution that answers. Earlier events are in earlier executions. */
  firstOffset: s.NUMBER,
  /** Offset of the first event of this page. */
  from: s.NUMBER,
  /** The events of this page. */
  events: s.listOf(EVENT),
  /** The id of the first event of the page, if it is too large for any answer and the page is therefore empty. */
  nextId: s.optional(s.TEXT),
  /** The number of all events; there is a next page, at `from + events.length`, while that is less. */
  total: s.NUMBER,
  /** As of the status. */
  asOf: s.optional(s.TIMESTAMP),
});

/** Answer of the `context` query: the ExecutionContext, with a page of its events. */
export interface ContextPage extends s.ValueOf<typeof CONTEXT_PAGE> {}

/** Answer of the `steps` query. */
export interface StepsPage {
  version: 1;
  /** Index of the first step of the execution that answers. */
  firstIndex: number;
  /** Index of the first step of this page. */
  from: number;
  steps: StepResult[];
  total: number;
}

/** Answer of the `record` query: what a run has recorded, from an event and a step on. */
export interface RecordPage {
  version: 1;
  /** Temporal's run id of the execution that answers. Absent in runs in memory. */
  executionId?: string;
  status: RunStatus;
  /** Offset of the first event of the execution that answers. Earlier events are in earlier executions. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  /** The events from the requested offset on. Empty also if the next one is too large for any answer. */
  events: Event[];
  /** True if events that were asked for are left out, because of the bytes that the question allows. */
  cut?: true;
  /** The number of all events. */
  total: number;
  /** Index of the first step of the execution that answers. */
  firstStep: number;
  /** The steps from the requested index on. Empty also if the events leave no room for the next one. */
  steps: StepResult[];
  /** The number of all steps. */
  totalSteps: number;
  /** As of the status. */
  asOf?: string;
}

const PINNED_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The offset that was asked for. Absent: the agent is the one that acts now. */
  offset: s.optional(s.NUMBER),
  /** Instructions, tools with their schemas, settings, limits and so on, and their digest. */
  snapshot: s.anyObject<AgentSnapshot>(),
};

/** The agent of a run as it is pinned, at a place of the record. */
export interface PinnedAgent extends s.ObjectOf<typeof PINNED_MEMBERS> {}
export const PINNED_AGENT: s.Shape<PinnedAgent> = s.object(PINNED_MEMBERS);

const CALL_RESULT = s.object({
  /** `success` or `error`. */
  status: s.TEXT,
  content: s.ANY_LIST,
  /** The location of the whole result, if `content` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
  /** The offset of the event that records it. */
  offset: s.NUMBER,
  /** The time of recording it, ISO 8601. */
  at: s.TIMESTAMP,
});

const CALL_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The id of the call. */
  callId: s.TEXT,
  /** The name of the tool. */
  toolName: s.TEXT,
  /** The agent whose model has made the call. */
  agentName: s.TEXT,
  /** The step that the call belongs to. Absent until the step is complete. */
  step: s.optional(s.NUMBER),
  /** The offset of the event with the call. */
  offset: s.NUMBER,
  /** ISO 8601. */
  requestedAt: s.TIMESTAMP,
  /** The call was made by code that the model wrote. */
  caller: s.optional(s.fixed('code')),
  /** The tool as the run is pinned to it. Absent: the agent has no tool of that name. */
  description: s.optional(s.TEXT),
  /** The JSON Schema of the arguments. */
  schema: s.optional(s.JSON_OBJECT),
  /** The kind of effect that the tool has. */
  category: s.optional(s.TEXT),
  /** The arguments as the model wrote them, whole. */
  arguments: s.JSON_OBJECT,
  /** The arguments that it ran with, if others have been put in the place of those. */
  ranWith: s.optional(s.JSON_OBJECT),
  /** Present while the call waits for a decision, with the whole arguments that the decision is about: a gate may have changed those of the model. */
  waiting: s.optional(APPROVAL_VIEW),
  /** The decisions about the call, in their order. */
  decisions: s.listOf(DECISION),
  /** Absent while the call has no result. */
  result: s.optional(CALL_RESULT),
  ...CALL_FACT_MEMBERS,
};

/** One call of a run, with everything that is recorded about it. */
export interface CallDetails extends s.ObjectOf<typeof CALL_FACT_MEMBERS>, s.ObjectOf<typeof CALL_MEMBERS> {}
export const CALL_DETAILS: s.Shape<CallDetails> = s.object(CALL_MEMBERS);

const TURN_MEMBERS = {
  /** 1-based. */
  turn: s.NUMBER,
  /** Absent: the turn continues. */
  status: s.optional(TERMINAL_STATUS),
  /** Why the turn ended. Absent while it runs. */
  stopReason: s.optional(s.TEXT),
  /** The code and the message of a turn that failed. Absent unless it failed. */
  error: s.optional(s.TEXT),
  /** ISO 8601. */
  startTime: s.TIMESTAMP,
  /** When it ended, as ISO 8601 in UTC. Absent while it runs. */
  endTime: s.optional(s.TIMESTAMP),
  /** The offset of its first event. */
  firstOffset: s.NUMBER,
  /** The number of its events so far. */
  events: s.NUMBER,
  /** The number of steps that are complete. */
  steps: s.NUMBER,
  /** The tokens of its model calls, with estimates. */
  tokens: s.NUMBER,
  /** The beginning of the message that it answers. */
  question: s.optional(s.TEXT),
  /** The beginning of the newest text of the model. */
  answer: s.optional(s.TEXT),
};

/** A turn of a session in a list. */
export interface TurnEntry extends s.ObjectOf<typeof TURN_MEMBERS> {}
export const TURN_ENTRY: s.Shape<TurnEntry> = s.object(TURN_MEMBERS);

/** A page of the turns of a session, the oldest first. `next` is the first turn of the next page. */
export interface TurnsPage {
  /** The id of the session. */
  sessionId: string;
  /** The turns of this page. */
  turns: TurnEntry[];
  /** The number of the first turn of the next page. Absent on the last one. */
  next?: number;
}

/**
 * What a span is: a model call, a tool call (also a cell of code), an activity of Longhaul itself, a workflow task, the wait for a person, or
 * a child run.
 */
const SPAN_KIND = s.oneOf('model', 'tool', 'own', 'task', 'person', 'child');

/** What the time of a span was spent on. @useDeclaredType */
export type SpanKind = s.ValueOf<typeof SPAN_KIND>;

const FAILED_ATTEMPT = s.object({
  /** 1-based. */
  attempt: s.NUMBER,
  /** The code of the error. Absent if the failure has none, such as a timeout of the server. */
  code: s.optional(s.TEXT),
  message: s.TEXT,
});

const SPAN_MEMBERS = {
  /** The same whenever the timeline is read. */
  id: s.TEXT,
  /** A model call, a tool call (also a cell of code), an activity of Longhaul itself, a workflow task, the wait for a person, or a child run. */
  kind: SPAN_KIND,
  /** The name of the tool, the activity or the child run; `message` for the wait of a session for its next message. */
  name: s.TEXT,
  /** The number of events that the run had recorded when it began. */
  offset: s.NUMBER,
  /** The moment at which it was requested, ISO 8601. */
  from: s.TIMESTAMP,
  /** Absent: it has not ended. */
  to: s.optional(s.TIMESTAMP),
  /** Milliseconds until a worker took its only attempt. Absent for what no worker takes, and if there were further attempts. */
  queueMs: s.optional(s.NUMBER),
  /** Milliseconds of earlier attempts, with the pauses between them and the waits for a worker: the server keeps their sum alone. */
  retryMs: s.optional(s.NUMBER),
  /** Milliseconds of the last attempt, or of the wait. Absent while it continues. */
  runMs: s.optional(s.NUMBER),
  /** The number of attempts. Absent for what has none, and before the first has ended. */
  attempts: s.optional(s.NUMBER),
  /** The failures that the server keeps: of the last attempt, and of the one before it. */
  failures: s.optional(s.listOf(FAILED_ATTEMPT)),
  /** How it ended, unless it succeeded. */
  ended: s.optional(s.oneOf('failed', 'cancelled', 'timed_out', 'terminated')),
  /** The step that it belongs to. 1-based. */
  step: s.optional(s.NUMBER),
  /** The id of the tool call that it belongs to. Absent if it belongs to none. */
  callId: s.optional(s.TEXT),
  /** The run id of the child. Absent unless the span is a child run. */
  childRunId: s.optional(s.TEXT),
  /** For a wait: the decision that ended it. */
  decision: s.optional(s.TEXT),
};

/** A stretch of the time of a run. */
export interface TimelineSpan extends s.ObjectOf<typeof SPAN_MEMBERS> {}
export const TIMELINE_SPAN: s.Shape<TimelineSpan> = s.object(SPAN_MEMBERS);

const MS_MEMBERS = {
  /** Milliseconds in model calls. */
  model: s.NUMBER,
  /** Milliseconds in tool calls, those of code included. */
  tool: s.NUMBER,
  /** Milliseconds in activities of Longhaul itself. */
  own: s.NUMBER,
  /** Milliseconds in workflow tasks. */
  task: s.NUMBER,
  /** Milliseconds of waits for a person. */
  person: s.NUMBER,
  /** Milliseconds in child runs. */
  child: s.NUMBER,
  /** The waits for a worker of all of them. */
  queue: s.NUMBER,
  /** The earlier attempts of all of them. */
  retry: s.NUMBER,
};

/** Milliseconds by kind: those of spans that have ended. Spans overlap, so the sum may be more than the time of the run. */
export interface TimeByKind extends s.ObjectOf<typeof MS_MEMBERS> {}

const TIMELINE_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The offset of the page: spans that began with fewer events are on pages before. */
  from: s.NUMBER,
  /** The spans of the page, in the order in which they began. */
  spans: s.listOf(TIMELINE_SPAN),
  /** The sums of the page: those of all pages add up. */
  ms: s.shape<TimeByKind>(s.object(MS_MEMBERS)),
  /** The offset of the next page. Absent on the last one. */
  next: s.optional(s.NUMBER),
};

/** A page of the timeline of a run, the spans in the order in which they began. */
export interface RunTimeline extends s.ObjectOf<typeof TIMELINE_MEMBERS> {}
export const RUN_TIMELINE: s.Shape<RunTimeline> = s.object(TIMELINE_MEMBERS);

/** Adds up the time of spans by their kinds. */
export function timeByKind(spans: readonly TimelineSpan[]): TimeByKind {
  const ms: TimeByKind = { model: 0, tool: 0, own: 0, task: 0, person: 0, child: 0, queue: 0, retry: 0 };
  for (const { kind, queueMs = 0, retryMs = 0, runMs = 0 } of spans) {
    ms[kind] += runMs;
    ms.queue += queueMs;
    ms.retry += retryMs;
  }
  return ms;
}

const UNKNOWN_PART = s.object({
  /** What the record does not hold. */
  part: s.oneOf('instructions', 'memory', 'account', 'rules', 'wire'),
  /** Why this part of the request is not known any more. */
  reason: s.TEXT,
});

/** A part of a request that the record does not hold. */
export interface UnknownPart extends s.ValueOf<typeof UNKNOWN_PART> {}

const REQUEST_ITEM = s.object({
  /** The offset of its event in the record. */
  offset: s.NUMBER,
  /** The index in the content of the event. */
  index: s.NUMBER,
  /** `user`, the name of the agent, or `memory`. Results of tools have the agent as their author. */
  author: s.TEXT,
  /** The kind of the part. */
  type: s.oneOf('message', 'tool_call', 'tool_result'),
  /** The name of the tool, or the role of the message. */
  name: s.TEXT,
  /** The call to which it belongs. Absent unless it is a call or a result. */
  callId: s.optional(s.TEXT),
  /** The beginning of it. */
  text: s.TEXT,
});

/** An item of the conversation of a request. */
export interface RequestItem extends s.ValueOf<typeof REQUEST_ITEM> {}

const DIFF_MEMBERS = {
  /** The step that the request is compared with. */
  step: s.NUMBER,
  /** Items that the other request does not have. */
  added: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Results of tools whose content was taken out since. */
  evicted: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Items that are not in the conversation any more: a summary stands in their place, if there is one, or a check has refused them. */
  summarised: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The entries of the memory among those that were added. */
  recalled: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The parts besides the conversation that differ, such as `model`, `instructions/0`, `tools/search`, `settings/toolChoice`. */
  changed: s.listOf(s.TEXT),
  /** What both begin with, in the order of tools, instructions, conversation: what the cache of a provider can use. Estimated. */
  commonPrefix: s.object({
    tokens: s.NUMBER,
    /** All tokens of this request. */
    of: s.NUMBER,
  }),
};

/** The difference of a request to another one. */
export interface RequestDiff extends s.ObjectOf<typeof DIFF_MEMBERS> {}

const WIRE = s.object({
  /** The API, such as `openai.chat`. */
  api: s.TEXT,
  /** The path behind the base URL. */
  path: s.TEXT,
  /** The body as the provider received it, without secrets. */
  body: s.shape<JsonObject>(s.JSON_OBJECT),
});

/** A request in the form of the API of its provider. */
export interface WireRequest extends s.ValueOf<typeof WIRE> {}

const MEMBERS = {
  /** The run whose step it is. */
  runId: s.TEXT,
  /** 1-based. */
  step: s.NUMBER,
  /** `provider/model`: the one that answered, or the first of the agent. */
  model: s.TEXT,
  /** The digest of the agent that acted: `snapshot` has it. */
  agentDigest: s.TEXT,
  /** The number of events that the conversation was made of. */
  through: s.NUMBER,
  /** The optional final attempt after the step limit. */
  final: s.optional(s.TRUE),
  /** The model has not answered yet. */
  open: s.optional(s.TRUE),
  /** What the model was given. */
  request: s.anyObject<ModelRequest>(),
  /** Absent if the reader has no provider that can tell. */
  wire: s.optional(s.shape<WireRequest>(WIRE)),
  /** What changed since the request of the step before. Absent for the first step. */
  diff: s.optional(s.shape<RequestDiff>(s.object(DIFF_MEMBERS))),
  /** The request was built from the record, by the code of the worker. */
  asOf: s.fixed('rebuilt'),
  /** What the record does not hold, and is therefore missing. */
  unknown: s.listOf<UnknownPart>(UNKNOWN_PART),
};

/** The request of a step: what the model was asked. */
export interface StepRequest extends s.ObjectOf<typeof MEMBERS> {}
export const STEP_REQUEST: s.Shape<StepRequest> = s.object(MEMBERS);
