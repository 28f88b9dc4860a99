import { type ActivityName, type InputOf, isOwnActivity, type ResultOf } from '../core/activity-requests/contracts.ts';
import { defined, isJsonObject, type JsonObject } from '../core/domain/json.ts';
import type { Resolved } from '../core/domain/children.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../core/domain/run.ts';
import type { Growth } from '../core/kernel/ports.ts';
import type { ContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import { ACTIVITY } from '../core/program/program-run.ts';
import {
  type ProgramInput,
  type RunInput,
  type RunSegmentOutput,
  type RunToolInput,
  type RunToolOutput,
  SIGNALS,
} from '../core/protocol.ts';
import type { HistoryEvent } from './history-events.ts';

/**
 * A recorded activity and its end. Workflow tasks are numbered from 1: each task sees the events since the task
 * before it.
 */
export interface RecordedActivity<Input, Output> {
  input: Input;
  /** The task that requested it. */
  scheduledIn: number;
  output?: Output;
  /** The failure of its last attempt. */
  failure?: Error;
  /** The task that saw its end. */
  task?: number;
  /** The task that gave it up, which does not wait for its end unless the request says so. */
  givenUpIn?: number;
}

/** The requests of a run about a child, or its keeper. Each is recorded like an activity, with its end and the task that saw it. */
interface RecordedChild {
  /** The start. It ends when the server has started the child. */
  started?: RecordedActivity<undefined, unknown>;
  /** The run of the child, for the execution that has started it. */
  closed?: RecordedActivity<undefined, RunResultFields>;
  /** The signal that asks it to report its end. */
  told?: RecordedActivity<undefined, unknown>;
  /** The request to cancel it. */
  cancelled?: RecordedActivity<undefined, unknown>;
  /** For a session: the messages that begin turns, the interrupt requests, and the reported ends of turns, in order. */
  nextTurns: RecordedActivity<undefined, unknown>[];
  interrupts: RecordedActivity<undefined, unknown>[];
  reports: RecordedActivity<undefined, unknown>[];
}

/** A signal or Update that a run received, with the task that handled it. */
export interface RecordedInboundMessage {
  by: 'update' | 'signal';
  name: string;
  argument: unknown;
  task: number;
}

export type ExecutionEnd =
  | { type: 'continued'; executionId: string }
  /** `cancelled`: it closed as Canceled. `at` is in milliseconds since the epoch. */
  | { type: 'closed'; cancelled: boolean; at: number };

/** Everything in the history of one execution that running the loop again needs. */
export interface RecordedExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The previous execution; undefined for the first of a run. */
  continuedFrom?: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The input of the run, or the state carried over from the previous execution. */
  input?: RunInput;
  /** The input of the run of a program. */
  program?: ProgramInput;
  continuedState?: ContinueAsNewState;
  /** The resolved agent, and the task that saw it. Undefined if the agent was never resolved. */
  resolved?: Omit<Extract<Resolved, { type: 'resolved' }>, 'type'> & { task: number };
  /** All activities except local ones, in the order in which the workflow requested them. */
  activities: NamedActivity[];
  /**
   * Local tool calls and segments of code, in the order in which they ended. The history does not hold their input; `scheduledIn` is
   * the task in which they ended.
   */
  localCalls: RecordedActivity<LocalActivity, RunToolOutput | RunSegmentOutput>[];
  /** Local lookups about bursts that the run was about to cancel: no call of the loop waits for them. */
  checkpoints: RecordedActivity<LocalActivity, unknown>[];
  /** The children of a program, by run id. */
  children: Map<string, RecordedChild>;
  /** All ended activities, in the order of their ends. */
  ended: RecordedActivity<unknown, unknown>[];
  inboundMessages: RecordedInboundMessage[];
  /** Ids of the patches that the execution has recorded. */
  changes: Set<string>;
  cancel?: { reason: string; task?: number };
  /** The tasks that saw a timer fire. */
  timers: Set<number>;
  /** The start of each task, in milliseconds since the epoch. */
  taskTimes: number[];
  /** The size of the history at the start of each task. */
  taskSizes?: TaskSize[];
  /** The task in which the loop ended in this execution, or the last one in which it can have. */
  decidedIn?: number;
  /** The task whose notification the parent had received at continue-as-new: the loop can have ended from then on. */
  toldIn?: number;
  /** The lost attempts, among the last two of each activity: their worker stopped answering. */
  losses?: LostActivity[];
  /** The attempts that ended activities, as reported by workers, in order. */
  endedAttempts?: EndedAttempt[];
  end?: ExecutionEnd;
}

/** The last attempt of an ended activity. Times are server times, in milliseconds since the epoch. */
export interface EndedAttempt {
  name: string;
  input: unknown;
  /** Temporal's id of the activity. Empty for a local one. */
  activityId: string;
  /** 1-based. Undefined if workers count the attempts and have not recorded the number. */
  attempt?: number;
  /** When the worker had a local activity, by the worker's clock; part of the name of its span. Absent: it was not local. */
  localAt?: number;
  scheduledAt: number;
  startedAt: number;
  endedAt: number;
  output?: unknown;
  failure?: Error;
}

/** What identifies a tool call in a burst: the history only has its outcome. */
export interface ToolCallInBurst {
  name: string;
  input: Pick<RunToolInput, 'callId' | 'agentName' | 'step' | 'at' | 'ofProgram'>;
}

/** Returns the identifying part of a tool call. The rest of its input (deps and state) would be kept once per call. */
export function toolCallInBurst({ name, input }: { name: string; input: RunToolInput }): ToolCallInBurst {
  const { callId, agentName, step, at, ofProgram } = input;
  return { name, input: { callId, agentName, step, at, ...defined({ ofProgram }) } };
}

/** An attempt whose worker stopped answering. Times are in milliseconds since the epoch. */
export interface LostActivity {
  name: string;
  input: unknown;
  /** Temporal's id of the activity. */
  activityId: string;
  /** 1-based, not counting attempts that workers could not make or that were parked. */
  attempt: number;
  scheduledAt: number;
  /** When the server gave it up or the next attempt began. */
  endedAt: number;
}

/** An activity with its name. */
export type NamedActivity = RecordedActivity<unknown, unknown> & { name: string };

/** Returns the activities with a name, in the order in which the workflow requested them. */
export function activitiesNamed<Name extends ActivityName>(
  { activities }: Pick<RecordedExecution, 'activities'>,
  name: Name,
): RecordedActivity<InputOf<Name>, ResultOf<Name>>[] {
  return activities.filter((one) => one.name === name) as (NamedActivity & RecordedActivity<InputOf<Name>, ResultOf<Name>>)[];
}

/** True for an activity that resolves an agent during a run: for a handoff, or to refresh a session. */
export function isHandoff({ name, input }: Pick<NamedActivity, 'name' | 'input'>): boolean {
  return name === 'resolveAgent' && isJsonObject(input) && 'from' in input;
}

export function isToolActivity(name: string): boolean {
  return !isOwnActivity(name);
}

/** Returns the non-local tool calls, in the order in which the workflow requested them. */
export function toolCallsOf({ activities }: Pick<RecordedExecution, 'activities'>): RecordedActivity<RunToolInput, RunToolOutput>[] {
  return activities.filter(({ name }) => isToolActivity(name)) as (NamedActivity & RecordedActivity<RunToolInput, RunToolOutput>)[];
}

/** Returns an execution before anything was read. */
export function emptyExecution(executionId: string): RecordedExecution {
  return {
    executionId,
    startedAt: 0,
    activities: [],
    children: new Map(),
    localCalls: [],
    checkpoints: [],
    ended: [],
    timers: new Set(),
    inboundMessages: [],
    changes: new Set(),
    taskTimes: [],
  };
}

/** Returns the record of a child, creating it if needed. */
export function childOf({ children }: RecordedExecution, runId: string): RecordedChild {
  let child = children.get(runId);
  if (child === undefined) children.set(runId, (child = { nextTurns: [], interrupts: [], reports: [] }));
  return child;
}

/** The part of a child that an event is about. */
export type ChildPart = 'started' | 'closed' | 'told' | 'cancelled';

/** The signals that a child may receive several times. */
type SignalList = 'nextTurns' | 'interrupts' | 'reports';

const SIGNAL_LISTS = new Map<string, SignalList>([
  [SIGNALS.nextTurn, 'nextTurns'],
  [SIGNALS.interrupt, 'interrupts'],
  [SIGNALS.childEnded, 'reports'],
]);

/** A request to a child: the parts that begin with its event, and the list that a signal belongs to. */
interface ChildRequest {
  runId: string;
  parts: ChildPart[];
  list?: SignalList;
}

/** Returns the child that an event makes a request to, and the parts that begin with it. */
export function childRequest(event: HistoryEvent): ChildRequest | undefined {
  const start = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (start) return { runId: start.workflowId ?? '', parts: ['started', 'closed'] };
  const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  if (signal?.signalName === SIGNALS.notifyOnEnd) return { runId: signal.workflowExecution?.workflowId ?? '', parts: ['told'] };
  const list = SIGNAL_LISTS.get(signal?.signalName ?? '');
  if (list !== undefined) return { runId: signal?.workflowExecution?.workflowId ?? '', parts: ['told'], list };
  const cancel = event.requestCancelExternalWorkflowExecutionInitiatedEventAttributes;
  return cancel ? { runId: cancel.workflowExecution?.workflowId ?? '', parts: ['cancelled'] } : undefined;
}

/** The answer to a request: its event, the part that ends with it, and what the answer holds. */
export interface ChildAnswer {
  initiatedEventId: unknown;
  part: ChildPart;
  result?: { payloads?: object[] | null } | null | undefined;
  failure?: object | null | undefined;
  /** The kind of end, if the history has no failure for it. */
  ended?: 'failed' | 'cancelled' | 'terminated' | 'timed_out';
}

/** Returns the answer in an event to an earlier request; undefined for any other event. */
export function childAnswer(event: HistoryEvent): ChildAnswer | undefined {
  const answer = (
    part: ChildPart,
    attributes: { initiatedEventId?: unknown } | null | undefined,
    more: Partial<ChildAnswer> = {},
  ): ChildAnswer[] => (attributes ? [{ initiatedEventId: attributes.initiatedEventId, part, ...more }] : []);
  const completed = event.childWorkflowExecutionCompletedEventAttributes;
  const failed = event.childWorkflowExecutionFailedEventAttributes;
  const [found] = [
    ...answer('started', event.childWorkflowExecutionStartedEventAttributes),
    ...answer('started', event.startChildWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
    ...answer('closed', completed, { result: completed?.result }),
    ...answer('closed', failed, { failure: failed?.failure, ended: 'failed' }),
    ...answer('closed', event.childWorkflowExecutionCanceledEventAttributes, { ended: 'cancelled' }),
    ...answer('closed', event.childWorkflowExecutionTerminatedEventAttributes, { ended: 'terminated' }),
    ...answer('closed', event.childWorkflowExecutionTimedOutEventAttributes, { ended: 'timed_out' }),
    ...answer('told', event.externalWorkflowExecutionSignaledEventAttributes),
    ...answer('told', event.signalExternalWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
    ...answer('cancelled', event.externalWorkflowExecutionCancelRequestedEventAttributes),
    ...answer('cancelled', event.requestCancelExternalWorkflowExecutionFailedEventAttributes, { ended: 'failed' }),
  ];
  return found;
}

/**
 * The attributes of a marker event. The SDK's core writes them below the data converter, so no codec has changed
 * them.
 */
export type Marker = NonNullable<HistoryEvent['markerRecordedEventAttributes']>;

/** The description of a local activity in its marker. */
interface LocalActivity {
  /** The position among all activities of the execution, in the order in which the workflow requested them. */
  seq: number;
  name: string;
  /**
   * The time of the workflow's clock from then on, in milliseconds since the epoch. Undefined for a cancelled
   * activity.
   */
  endedAt?: number;
  /** When it was requested, in milliseconds since the epoch, and the number of its last attempt. */
  scheduledAt?: number;
  attempt?: number;
}

/** Returns the id of the patch that a marker records, if it records one. */
export function patchOf({ markerName, details }: Marker): string | undefined {
  const patch = markerName === 'core_patch' ? markerJson(details?.['patch-data']) : undefined;
  return typeof patch?.['id'] === 'string' ? patch['id'] : undefined;
}

/**
 * Returns the local activity whose end a marker records. Undefined for another marker, and for an attempt that is
 * retried later.
 */
export function localActivityOf({ markerName, details }: Marker): LocalActivity | undefined {
  const data = markerName === 'core_local_activity' ? markerJson(details?.['data']) : undefined;
  if (data === undefined || isJsonObject(data['backoff'])) return undefined;
  const { seq, activity_type: name, attempt, complete_time: endTime, original_schedule_time: scheduleTime } = data;
  return {
    seq: Number(seq),
    name: typeof name === 'string' ? name : '',
    ...(isJsonObject(endTime) ? { endedAt: markerMilliseconds(endTime) } : {}),
    ...(isJsonObject(scheduleTime) ? { scheduledAt: markerMilliseconds(scheduleTime) } : {}),
    ...(typeof attempt === 'number' ? { attempt } : {}),
  };
}

function markerMilliseconds({ seconds, nanos }: JsonObject): number {
  return Number(seconds) * 1000 + Math.floor(Number(nanos) / 1_000_000);
}

function markerJson(payloads: { payloads?: { data?: Uint8Array | null }[] | null } | undefined): JsonObject | undefined {
  const data = payloads?.payloads?.[0]?.data;
  const value: unknown = data ? JSON.parse(Buffer.from(data).toString()) : undefined;
  return isJsonObject(value) ? value : undefined;
}

/** The size of a history at the start of a workflow task, as reported by the server. */
export interface TaskSize {
  events: number;
  bytes: number;
  /** True if the server suggested continuing as new. */
  isSuggested: boolean;
}

export function sizeAt(
  { eventId }: HistoryEvent,
  { historySizeBytes, suggestContinueAsNew }: NonNullable<HistoryEvent['workflowTaskStartedEventAttributes']>,
): TaskSize {
  return { events: Number(eventId), bytes: Number(historySizeBytes ?? 0), isSuggested: suggestContinueAsNew ?? false };
}

/** True if the history was too full at a task to grow by this much. */
export function isFull(size: TaskSize | undefined, growth: Growth, limit: ContinueAsNewThresholds = DEFAULT_THRESHOLDS): boolean {
  if (size === undefined) return false;
  return size.isSuggested || size.events + growth.events > limit.events || size.bytes + growth.bytes > limit.bytes;
}

/**
 * False if the history was full for another activity's growth, which made the run continue as new, but not for this one: in one
 * workflow task, parallel steps check both. True if something other than the size has decided.
 */
export function isFullFor(growth: Growth, size: TaskSize | undefined, limit?: ContinueAsNewThresholds): boolean {
  return size === undefined || isFull(size, growth, limit) || !isFull(size, ACTIVITY, limit);
}
