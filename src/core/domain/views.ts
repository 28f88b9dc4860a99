import type { AgentSnapshot } from './agent.ts';
import { APPROVAL_VIEW, type ApprovalView, DECISION, type RememberedDecision } from './approvals.ts';
import { MESSAGE_CONTENT, SPILLED_CONTENT } from './content.ts';
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
  /** The time of the next attempt, ISO 8601. Absent if the server does not report it. */
  nextAttemptAt: s.optional(s.TIMESTAMP),
  /** The time when the call is given up, ISO 8601. */
  givesUpAt: s.TIMESTAMP,
});

/** A model call that its provider refuses (429, 5xx), and that is retried within the agent's patience. */
export interface RefusedCall extends s.ValueOf<typeof REFUSED_CALL> {}

const BATCHED_CALL = s.object({
  /** The workflow that collects the provider's calls into batches. */
  collector: s.TEXT,
  /** The start of the wait, ISO 8601. */
  since: s.TIMESTAMP,
  /** The number of the batch in the collector. Absent: the call is not in a batch yet. */
  batch: s.optional(s.NUMBER),
  /** The provider's id of the batch. */
  id: s.optional(s.TEXT),
});

/** A model call that waits for a batch of its provider. */
export interface WaitingForBatch extends s.ValueOf<typeof BATCHED_CALL> {}

const RUNNING_CALL = s.object({
  /**
   * The name of the tool; `callModel` for the model, `summarize` for a summary or a title, `askStep` and `useMemory` for steps of a
   * program, `archiveEvents` for the archive, `notifyWaiting` for `notify`, `notifyEnded` for the function of that name.
   */
  name: s.TEXT,
  /** 1-based. */
  attempt: s.NUMBER,
  /** The details of the last heartbeat: `context.heartbeat(progress)` of a tool. */
  progress: s.optional(s.ANY_JSON),
  /** The error of the previous attempt. */
  lastFailure: s.optional(s.TEXT),
  /** Set while a model call waits for its next attempt after the provider refused it. */
  refused: s.optional(s.shape<RefusedCall>(REFUSED_CALL)),
  /** Set while a model call waits for a batch. */
  waitsForBatch: s.optional(s.shape<WaitingForBatch>(BATCHED_CALL)),
});

/** A call of a tool, the model, the archive or a worker function that is in progress or waits for its next attempt. */
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

/** A tool call that is postponed only by the time. */
export interface PostponedCall extends s.ValueOf<typeof POSTPONED> {}

const WORKER_WAIT = s.object({
  /**
   * `no_worker`: none polls the task queue. `no_build`: none of those that do has the build that the run needs, or no build is current.
   * `busy`: workers poll it, and have not taken the task. `failing`: they take the workflow task, and it fails each time.
   */
  why: s.oneOf('no_worker', 'no_build', 'busy', 'failing'),
  /** The task queue of the task that waits. */
  taskQueue: s.TEXT,
  /** Since when it waits, ISO 8601. */
  since: s.TIMESTAMP,
  /** The activity that waits, such as `callModel`. Absent: a workflow task. */
  activity: s.optional(s.TEXT),
  /** The number of workers that have polled the task queue within the last minute: one that was killed counts until then. */
  workers: s.NUMBER,
  /** The last time that one of them polled, ISO 8601. Absent if there are none. */
  lastPollAt: s.optional(s.TIMESTAMP),
  /** The builds of these workers. Absent if they are not tied to builds. */
  builds: s.optional(s.listOf(s.TEXT)),
  /** The build that the run needs: the one that it is pinned to, or the current one. Absent if there is none. */
  build: s.optional(s.TEXT),
  /** The attempts of a workflow task that fails. */
  attempts: s.optional(s.NUMBER),
  /** The tasks that wait in the task queue, estimated. Absent if there are none, or if the server does not say. */
  backlog: s.optional(s.NUMBER),
});

/** Why no worker has taken a task of a run that has waited for some seconds. */
export interface WaitForWorker extends s.ValueOf<typeof WORKER_WAIT> {}

const STATUS_MEMBERS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the run. */
  runId: s.TEXT,
  /** The agent that the run began with. */
  agentName: s.TEXT,
  /** The current agent. Present only if the run was handed over. */
  currentAgent: s.optional(s.TEXT),
  /** The information about the run that an approver needs. */
  about: RUN_SUBJECT,
  /** The current status, or how the run ended. */
  status: RUN_STATUS,
  /** The number of completed steps: 0 before the first. */
  currentStep: s.NUMBER,
  /** The usage of the run itself; for a program, including its ended descendants. */
  usage: AGGREGATED_USAGE,
  /** The usage of the run and its ended descendants. Absent if there are none, and for a program: then it equals `usage`. */
  treeUsage: s.optional(AGGREGATED_USAGE),
  /** The number of calls executed by tools. */
  toolCallsTotal: s.NUMBER,
  /** The number of calls that did not run, by reason and tool name. Absent if all calls ran. */
  toolCallsNotRun: s.optional(CALLS_NOT_RUN),
  /** The number of recorded events. */
  events: s.NUMBER,
  /** The number of executions of the run so far. */
  executions: s.NUMBER,
  /** The number of messages in the queue. */
  queued: s.NUMBER,
  /** The names of the tools whose calls wait for a decision. */
  waitingFor: s.listOf(s.TEXT),
  /** The calls that wait until a time, without needing a decision. Absent if there are none. */
  postponed: s.optional(s.listOf<PostponedCall>(POSTPONED)),
  /** The current limits. Undefined until the agent is resolved. */
  limits: s.optional(RUN_LIMITS),
  /** The turns and limits, if the run is a session. */
  session: s.optional(SESSION_VIEW),
  /** The ids of the children that the run waits for. Absent if there are none. */
  children: s.optional(s.listOf(s.TEXT)),
  /** The ids of the children that wait for a person. Absent if there are none. */
  waitingChildren: s.optional(s.listOf(s.TEXT)),
  /** The ids of the children that ended in the current step. Absent if there are none. */
  endedChildren: s.optional(s.listOf(s.TEXT)),
  /** The number of started tool calls: limits count these. */
  toolCallsStarted: s.NUMBER,
  /** The newest error of a tool, an activity or a request. */
  lastError: s.optional(s.TEXT),
  /** The definitions that every worker which took the run's tasks has lacked so far. Absent if there are none. */
  missing: s.optional(s.listOf(s.anyObject<Missing>())),
  /** Present if a task of the run has waited for a worker for some seconds. Added only by the client. */
  waitsForWorker: s.optional(s.shape<WaitForWorker>(WORKER_WAIT)),
  /** The events that the archive is storing: the run continues or ends afterwards. */
  archiving: s.optional(ARCHIVING),
  /** The events that are not in the archive because storing them failed. */
  notArchived: s.optional(s.listOf(NOT_ARCHIVED)),
  /** The remote calls in progress, as reported by the server. Added only by the client, and only if there are any. */
  running: s.optional(s.listOf<RunningCall>(RUNNING_CALL)),
  /** ISO 8601. */
  startTime: s.TIMESTAMP,
  /** When the run ended, ISO 8601. Absent while it is running. Added only by the client. */
  endTime: s.optional(s.TIMESTAMP),
  /**
   * The code of the error that has ended the run: `run_terminated` or `run_timed_out` for a run that an operator or a timeout of the server
   * has ended, which has no result. Absent for any other status than `error`. Added only by the client.
   */
  errorCode: s.optional(s.TEXT),
  /**
   * Present while the run waits for a burst: the time of the last outcome that the run has, ISO 8601. Later outcomes of the burst's calls
   * follow at its end.
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
  /** The information about the run that an approver needs. */
  about: RunSubject;
  status: RunStatus;
  /** Index of the first pending approval of this page. */
  from: number;
  pending: ApprovalView[];
  /** The number of all pending approvals. */
  total: number;
  /** Decisions that apply to further calls. */
  remembered: RememberedDecision[];
  /** The ids of the children that the run waits for and that have their own approvals. Absent if there are none. */
  children?: string[];
}

const UNREAD_MEMBERS = {
  /** The id of the message, as its sender chose it. */
  id: s.TEXT,
  /** The content: a text, or parts. */
  content: MESSAGE_CONTENT,
  /** The time of acceptance. ISO 8601. */
  timestamp: s.TIMESTAMP,
};

/** A message that a run has accepted and no model has read: it becomes an event once a turn begins with it. */
export interface UnreadMessage extends s.ObjectOf<typeof UNREAD_MEMBERS> {}
const UNREAD_MESSAGE: s.Shape<UnreadMessage> = s.object(UNREAD_MEMBERS);

export const CONTEXT_PAGE = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The Temporal run id of the execution that answered. */
  executionId: s.TEXT,
  /** The current status, or how the run ended. */
  status: RUN_STATUS,
  /** The number of completed steps: 0 before the first. */
  currentStep: s.NUMBER,
  /** The state of the run, as set by tools with `context.setState`. */
  state: s.JSON_OBJECT,
  /** The current deps of the run. */
  deps: s.JSON_OBJECT,
  /** The answer; null until the run has one. */
  finalResult: s.ANY_JSON,
  /** Offset of the first event in the answering execution. Earlier events are in earlier executions. */
  firstOffset: s.NUMBER,
  /** Offset of the first event of this page. */
  from: s.NUMBER,
  /** The events of this page. */
  events: s.listOf(EVENT),
  /** The id of the page's first event, if it is too large for any answer and the page is therefore empty. */
  nextId: s.optional(s.TEXT),
  /** The total number of events; the next page begins at `from + events.length`, if that is less. */
  total: s.NUMBER,
  /**
   * On the page with the last event: the messages that the run has accepted and no model has read. Absent if there are none, or if both are
   * too large for one page: the next one has them.
   */
  unread: s.optional(s.listOf<UnreadMessage>(UNREAD_MESSAGE)),
  /** The same as `asOf` of the status. */
  asOf: s.optional(s.TIMESTAMP),
});

/** Answer of the `context` query: the ExecutionContext, with a page of its events. */
export interface ContextPage extends s.ValueOf<typeof CONTEXT_PAGE> {}

/** Answer of the `steps` query. */
export interface StepsPage {
  version: 1;
  /** Index of the first step in the answering execution. */
  firstIndex: number;
  /** Index of the first step of this page. */
  from: number;
  steps: StepResult[];
  total: number;
}

/** Answer of the `record` query: the run's record from an event and a step on. */
export interface RecordPage {
  version: 1;
  /** The Temporal run id of the answering execution. Absent in runs in memory. */
  executionId?: string;
  status: RunStatus;
  /** Offset of the first event in the answering execution. Earlier events are in earlier executions. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  /** The events from the requested offset on. Also empty if the next one is too large for any answer. */
  events: Event[];
  /** True if requested events were left out because of the requested maximum of bytes. */
  cut?: true;
  /** The total number of events. */
  total: number;
  /** Index of the first step in the answering execution. */
  firstStep: number;
  /** The steps from the requested index on. Also empty if the events leave no room for the next one. */
  steps: StepResult[];
  /** The total number of steps. */
  totalSteps: number;
  /** The same as `asOf` of the status. */
  asOf?: string;
}

const PINNED_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The requested offset. Absent: the current agent. */
  offset: s.optional(s.NUMBER),
  /** Instructions, tools with their schemas, settings, limits and so on, and their digest. */
  snapshot: s.anyObject<AgentSnapshot>(),
};

/** The agent of a run, as pinned at a place in the record. */
export interface PinnedAgent extends s.ObjectOf<typeof PINNED_MEMBERS> {}
export const PINNED_AGENT: s.Shape<PinnedAgent> = s.object(PINNED_MEMBERS);

const CALL_RESULT = s.object({
  /** `success` or `error`. */
  status: s.TEXT,
  content: s.ANY_LIST,
  /** The location of the full result, if `content` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
  /** The texts about the call that the model reads after the result. Absent: none. */
  notes: s.optional(s.listOf(s.TEXT)),
  /** The offset of the event that records it. */
  offset: s.NUMBER,
  /** The time when it was recorded, ISO 8601. */
  at: s.TIMESTAMP,
});

const CALL_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The id of the call. */
  callId: s.TEXT,
  /** The name of the tool. */
  toolName: s.TEXT,
  /** The agent whose model made the call. */
  agentName: s.TEXT,
  /** The step that the call belongs to. Absent until the step is complete. */
  step: s.optional(s.NUMBER),
  /** The offset of the event with the call. */
  offset: s.NUMBER,
  /** ISO 8601. */
  requestedAt: s.TIMESTAMP,
  /** The call was made by code that the model wrote. */
  caller: s.optional(s.fixed('code')),
  /** The tool's description, as pinned for the run. Absent: the agent has no tool of that name. */
  description: s.optional(s.TEXT),
  /** The JSON Schema of the arguments. */
  schema: s.optional(s.JSON_OBJECT),
  /** The kind of the tool's effect. */
  category: s.optional(s.TEXT),
  /** The complete arguments as the model wrote them. */
  arguments: s.JSON_OBJECT,
  /** The arguments that it ran with, if they differ. */
  ranWith: s.optional(s.JSON_OBJECT),
  /**
   * Present while the call waits for a decision, with the complete arguments that the decision is about: a gate may have changed the
   * model's.
   */
  waiting: s.optional(APPROVAL_VIEW),
  /** The decisions about the call, in order. */
  decisions: s.listOf(DECISION),
  /** Absent while the call has no result. */
  result: s.optional(CALL_RESULT),
  ...CALL_FACT_MEMBERS,
};

/** One call of a run, with everything recorded about it. */
export interface CallDetails extends s.ObjectOf<typeof CALL_FACT_MEMBERS>, s.ObjectOf<typeof CALL_MEMBERS> {}
export const CALL_DETAILS: s.Shape<CallDetails> = s.object(CALL_MEMBERS);

const TURN_MEMBERS = {
  /** 1-based. */
  turn: s.NUMBER,
  /** Absent: the turn is still running. */
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
  /** The number of completed steps. */
  steps: s.NUMBER,
  /** The tokens of its model calls, including estimates. */
  tokens: s.NUMBER,
  /** The beginning of the message that it answers. */
  question: s.optional(s.TEXT),
  /** The beginning of the newest text of the model. */
  answer: s.optional(s.TEXT),
};

/** A turn of a session in a list. */
export interface TurnEntry extends s.ObjectOf<typeof TURN_MEMBERS> {}
export const TURN_ENTRY: s.Shape<TurnEntry> = s.object(TURN_MEMBERS);

/** A page of a session's turns, oldest first. `next` is the first turn of the next page. */
export interface TurnsPage {
  /** The id of the session. */
  sessionId: string;
  /** The turns of this page. */
  turns: TurnEntry[];
  /** The number of the first turn of the next page. Absent on the last one. */
  next?: number;
}

/**
 * The kind of a span: a model call, a tool call (including cells of code), an activity of Longhaul itself, a workflow task, a wait for a
 * person, or a child run.
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
  /**
   * A model call, a tool call (including cells of code), an activity of Longhaul itself, a workflow task, a wait for a person, or a child
   * run.
   */
  kind: SPAN_KIND,
  /** The name of the tool, the activity or the child run; `message` for a session's wait for its next message. */
  name: s.TEXT,
  /** The number of recorded events when it began. */
  offset: s.NUMBER,
  /** The time when it was requested, ISO 8601. */
  from: s.TIMESTAMP,
  /** Absent: it has not ended. */
  to: s.optional(s.TIMESTAMP),
  /** Milliseconds until a worker took its only attempt. Absent if no worker takes it, and if it had further attempts. */
  queueMs: s.optional(s.NUMBER),
  /** Milliseconds of earlier attempts, including the pauses between them and the waits for a worker: the server keeps only their sum. */
  retryMs: s.optional(s.NUMBER),
  /** Milliseconds of the last attempt or of the wait. Absent until it ends. */
  runMs: s.optional(s.NUMBER),
  /** The number of attempts. Absent if it has none, and before the first has ended. */
  attempts: s.optional(s.NUMBER),
  /** The failures that the server keeps: of the last attempt and the previous one. */
  failures: s.optional(s.listOf(FAILED_ATTEMPT)),
  /** How it ended, unless it succeeded. */
  ended: s.optional(s.oneOf('failed', 'cancelled', 'timed_out', 'terminated')),
  /** The step that it belongs to. 1-based. */
  step: s.optional(s.NUMBER),
  /** The id of the tool call that it belongs to. Absent if there is none. */
  callId: s.optional(s.TEXT),
  /** The run id of the child. Absent unless the span is a child run. */
  childRunId: s.optional(s.TEXT),
  /** For a wait: the decision that ended it. */
  decision: s.optional(s.TEXT),
};

/** A span of a run's time. */
export interface TimelineSpan extends s.ObjectOf<typeof SPAN_MEMBERS> {}
export const TIMELINE_SPAN: s.Shape<TimelineSpan> = s.object(SPAN_MEMBERS);

const MS_MEMBERS = {
  /** Milliseconds in model calls. */
  model: s.NUMBER,
  /** Milliseconds in tool calls, including cells of code and their calls. */
  tool: s.NUMBER,
  /** Milliseconds in activities of Longhaul itself. */
  own: s.NUMBER,
  /** Milliseconds in workflow tasks. */
  task: s.NUMBER,
  /** Milliseconds of waits for a person. */
  person: s.NUMBER,
  /** Milliseconds in child runs. */
  child: s.NUMBER,
  /** Milliseconds of all waits for a worker. */
  queue: s.NUMBER,
  /** Milliseconds of all earlier attempts. */
  retry: s.NUMBER,
};

/** Milliseconds of ended spans, by kind. Spans overlap, so the sum may exceed the run's time. */
export interface TimeByKind extends s.ObjectOf<typeof MS_MEMBERS> {}

const TIMELINE_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The offset of the page: spans that began earlier are on earlier pages. */
  from: s.NUMBER,
  /** The spans of the page, in the order of their starts. */
  spans: s.listOf(TIMELINE_SPAN),
  /** The sums for the page; the sums of all pages add up. */
  ms: s.shape<TimeByKind>(s.object(MS_MEMBERS)),
  /** The offset of the next page. Absent on the last one. */
  next: s.optional(s.NUMBER),
};

/** A page of a run's timeline, with spans in the order of their starts. */
export interface RunTimeline extends s.ObjectOf<typeof TIMELINE_MEMBERS> {}
export const RUN_TIMELINE: s.Shape<RunTimeline> = s.object(TIMELINE_MEMBERS);

/** Adds up the time of spans by kind. */
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
  /** The part that the record does not contain. */
  part: s.oneOf('instructions', 'memory', 'account', 'rules', 'wire'),
  /** Why this part of the request is no longer known. */
  reason: s.TEXT,
});

/** A part of a request that the record does not contain. */
export interface UnknownPart extends s.ValueOf<typeof UNKNOWN_PART> {}

const REQUEST_ITEM = s.object({
  /** The offset of its event in the record. */
  offset: s.NUMBER,
  /** The index in the event's content. */
  index: s.NUMBER,
  /** `user`, the name of the agent, or `memory`. The author of tool results is the agent. */
  author: s.TEXT,
  /** The kind of the part. */
  type: s.oneOf('message', 'tool_call', 'tool_result'),
  /** The name of the tool, or the role of the message. */
  name: s.TEXT,
  /** The id of the call. Absent unless it is a call or a result. */
  callId: s.optional(s.TEXT),
  /** The beginning of its text. */
  text: s.TEXT,
});

/** An item of the conversation of a request. */
export interface RequestItem extends s.ValueOf<typeof REQUEST_ITEM> {}

const DIFF_MEMBERS = {
  /** The step whose request is compared. */
  step: s.NUMBER,
  /** Items that are not in the other request. */
  added: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Tool results whose content has been evicted since. */
  evicted: s.listOf<RequestItem>(REQUEST_ITEM),
  /** Items that are no longer in the conversation: replaced by a summary, if there is one, or refused by a check. */
  summarized: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The memory entries among the added items. */
  recalled: s.listOf<RequestItem>(REQUEST_ITEM),
  /** The parts outside of the conversation that differ, such as `model`, `instructions/0`, `tools/search`, `settings/toolChoice`. */
  changed: s.listOf(s.TEXT),
  /** The common beginning of both, in the order of tools, instructions, conversation: what a provider's cache can use. Estimated. */
  commonPrefix: s.object({
    tokens: s.NUMBER,
    /** All tokens of this request. */
    of: s.NUMBER,
  }),
};

/** The difference between two requests. */
export interface RequestDiff extends s.ObjectOf<typeof DIFF_MEMBERS> {}

const WIRE = s.object({
  /** The API, such as `openai.chat`. */
  api: s.TEXT,
  /** The path after the base URL. */
  path: s.TEXT,
  /** The body as the provider received it, without secrets. */
  body: s.shape<JsonObject>(s.JSON_OBJECT),
});

/** A request in the form of its provider's API. */
export interface WireRequest extends s.ValueOf<typeof WIRE> {}

const MEMBERS = {
  /** The run that the step belongs to. */
  runId: s.TEXT,
  /** 1-based. */
  step: s.NUMBER,
  /** `provider/model`: the model that answered, or the agent's first model. */
  model: s.TEXT,
  /** The digest of the agent that acted: `snapshot` returns it. */
  agentDigest: s.TEXT,
  /** The number of events in the conversation. */
  through: s.NUMBER,
  /** The optional final attempt after the step limit. */
  final: s.optional(s.TRUE),
  /** The model has not answered yet. */
  open: s.optional(s.TRUE),
  /** The request to the model. */
  request: s.anyObject<ModelRequest>(),
  /** Absent if the reader has no provider that can describe it. */
  wire: s.optional(s.shape<WireRequest>(WIRE)),
  /** The changes since the previous step's request. Absent for the first step. */
  diff: s.optional(s.shape<RequestDiff>(s.object(DIFF_MEMBERS))),
  /** The request was rebuilt from the record, by the worker's code. */
  asOf: s.fixed('rebuilt'),
  /** The missing parts, which the record does not contain. */
  unknown: s.listOf<UnknownPart>(UNKNOWN_PART),
};

/** The request of a step to the model. */
export interface StepRequest extends s.ObjectOf<typeof MEMBERS> {}
export const STEP_REQUEST: s.Shape<StepRequest> = s.object(MEMBERS);
