import type { ApprovalView, RememberedDecision } from './approvals.ts';
import { RUN_LIMITS } from './limits.ts';
import type { Missing } from './missing-definitions.ts';
import { EVENT, type Event } from './record.ts';
import { ARCHIVING, NOT_ARCHIVED, RUN_STATUS, RUN_SUBJECT, type RunStatus, type RunSubject } from './run.ts';
import { SESSION_VIEW } from './sessions.ts';
import * as s from './shape.ts';
import { CALLS_NOT_RUN, type StepResult } from './tool-calls.ts';
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
