import type { ApprovalView, RememberedDecision } from '../approvals/approval.ts';
import type { Event } from '../record/event.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { RunLimits } from '../agent/limits.ts';
import type { Missing } from '../errors/missing.ts';
import type { Archiving, NotArchived } from '../record/not-archived.ts';
import type { RunStatus } from './run-status.ts';
import type { StepResult } from '../record/step.ts';
import type { AggregatedUsage } from '../model/usage.ts';

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
  /** The names of the tools whose calls wait for a decision. */
  waitingFor: string[];
  /** As they are now. Undefined until the agent is resolved. */
  limits?: RunLimits;
  /** Tool calls that have started: what the limits count. */
  toolCallsStarted: number;
  /** The newest error that a tool gave or a request met. */
  lastError?: string;
  /** What the run waits for because no worker that took its tasks had it so far: only while there is something. */
  missing?: Missing[];
  /** The events that the archive is being given: the run goes on, or ends, afterwards. */
  archiving?: Archiving;
  /** The events of the run that are not in the archive, because it failed for too long. */
  notArchived?: NotArchived[];
  /** Remote calls that are going on, as the server tells: only in what the client gives, and only while there are some. */
  running?: RunningCall[];
  /** ISO 8601. */
  startTime: string;
}

/** A call of a tool, of the model, of the archive or of a hook of the worker that is going on or waits for its next attempt. */
export interface RunningCall {
  /** The name of the tool; `callModel` for the model, `archiveEvents` for the archive, `notifyWaiting` for `notify`, `notifyEnded` for the hook of that name. */
  name: string;
  /** 1-based. */
  attempt: number;
  /** What the last heartbeat told: `context.heartbeat(progress)` of a tool. */
  progress?: JsonValue;
  /** Why the attempt before failed. */
  lastFailure?: string;
}

/** Answer of the `approvals` query. */
export interface ApprovalsPage {
  version: 1;
  runId: string;
  agentName: string;
  status: RunStatus;
  /** Index of the first pending approval of this page. */
  from: number;
  pending: ApprovalView[];
  /** Pending approvals in all. */
  total: number;
  /** Decisions that hold for further calls. */
  remembered: RememberedDecision[];
}

/** Answer of the `context` query: the ExecutionContext, with a page of its events. */
export interface ContextPage {
  version: 1;
  executionId: string;
  status: RunStatus;
  currentStep: number;
  state: JsonObject;
  /** The run's JSON data, as the updates so far have left it. Absent in what older workers answer. */
  deps?: JsonObject;
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
