import type { ApprovalView, RememberedDecision } from './approvals.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { RunLimits } from './limits.ts';
import type { Missing } from './missing-definitions.ts';
import type { Event } from './record.ts';
import type { Archiving, NotArchived, RunStatus, RunSubject } from './run.ts';
import type { SessionView } from './sessions.ts';
import type { CallsNotRun, StepResult } from './tool-calls.ts';
import type { AggregatedUsage } from './usage.ts';

/** Answer of the `status` query. */
export interface StatusView {
  version: 1;
  runId: string;
  /** The agent that the run began with. */
  agentName: string;
  /** The agent that acts. Only if the run was handed over. */
  currentAgent?: string;
  /** What an approver needs to know about the run. */
  about: RunSubject;
  status: RunStatus;
  currentStep: number;
  /** The usage of the run itself; that of a program includes its descendants that have ended. */
  usage: AggregatedUsage;
  /** The usage of the run and of its descendants that have ended. Absent if there are none, and for a program: it is then `usage`. */
  treeUsage?: AggregatedUsage;
  /** The number of calls that tools executed. */
  toolCallsTotal: number;
  /** The number of calls that did not run, by reason and name. Absent if all have run. */
  toolCallsNotRun?: CallsNotRun;
  events: number;
  /** The number of executions of the run so far. */
  executions: number;
  /** The number of messages in the queue. */
  queued: number;
  /** The names of the tools whose calls wait for a decision. */
  waitingFor: string[];
  /** The current limits. Undefined until the agent is resolved. */
  limits?: RunLimits;
  /** The turns and the limits, if the run is a session. */
  session?: SessionView;
  /** The ids of the children that the run waits for. Absent if there are none. */
  children?: string[];
  /** The ids of those of them that wait for a person. Absent if there are none. */
  waitingChildren?: string[];
  /** The ids of the children that have ended in the current step. Absent if there are none. */
  endedChildren?: string[];
  /** The number of tool calls that have started: limits count these. */
  toolCallsStarted: number;
  /** The newest error of a tool, an activity or a request. */
  lastError?: string;
  /** The definitions that no worker which took the run's tasks had so far. Absent if there are none. */
  missing?: Missing[];
  /** The events that the archive is storing: the run continues, or ends, afterwards. */
  archiving?: Archiving;
  /** The events of the run that are not in the archive, because storing them failed. */
  notArchived?: NotArchived[];
  /** The remote calls in progress, as reported by the server. Only the client adds them, and only if there are some. */
  running?: RunningCall[];
  /** ISO 8601. */
  startTime: string;
}

/** A call of a tool, the model, the archive or a hook of the worker that is in progress or waits for its next attempt. */
export interface RunningCall {
  /**
   * The name of the tool; `callModel` for the model, `summarise` for a summary or a title, `askStep` and `useMemory` for steps of a program, `archiveEvents` for the archive, `notifyWaiting` for `notify`, `notifyEnded`
   * for the hook of that name.
   */
  name: string;
  /** 1-based. */
  attempt: number;
  /** The details of the last heartbeat: `context.heartbeat(progress)` of a tool. */
  progress?: JsonValue;
  /** The error of the attempt before. */
  lastFailure?: string;
  /** Set while a model call waits for its next attempt because the provider has refused it. */
  refused?: RefusedCall;
}

/** A model call that its provider refuses (429, 5xx), and that is tried again for the patience of the agent. */
export interface RefusedCall {
  /** The code of the error, such as `model_rate_limited`. */
  code: string;
  /** The number of refusals so far. */
  times: number;
  /** The time of the next attempt, ISO 8601. Absent if the server does not say it. */
  nextAttemptAt?: string;
  /** The time at which the call is given up, ISO 8601. */
  givesUpAt: string;
}

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

/** Answer of the `context` query: the ExecutionContext, with a page of its events. */
export interface ContextPage {
  version: 1;
  executionId: string;
  status: RunStatus;
  currentStep: number;
  state: JsonObject;
  /** The current deps of the run. */
  deps: JsonObject;
  finalResult: JsonValue | null;
  /** Offset of the first event of the execution that answers. Earlier events are in earlier executions. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  events: Event[];
  /** The id of the first event of the page, if it is too large for any answer and the page is therefore empty. */
  nextId?: string;
  /** The number of all events; there is a next page, at `from + events.length`, while that is less. */
  total: number;
}

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
}
