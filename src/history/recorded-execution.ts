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
}

/** The requests of a run about one of its children, or about the run that keeps it. Each is recorded like an activity: with its end, and the task that saw it. */
interface RecordedChild {
  /** The start. It ends when the server has started the child. */
  started?: RecordedActivity<undefined, unknown>;
  /** The run of the child, for the execution that has started it. */
  closed?: RecordedActivity<undefined, RunResultFields>;
  /** The signal that asks it to report its end. */
  told?: RecordedActivity<undefined, unknown>;
  /** The request to cancel it. */
  cancelled?: RecordedActivity<undefined, unknown>;
  /** For a session: the messages that begin its turns, the requests to interrupt one, and the ends of turns that it was told of, in order. */
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
  /** The execution before this one; undefined for the first of a run. */
  continuedFrom?: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The input of the run, or the state that the execution before carried over. */
  input?: RunInput;
  /** The input of the run of a program. */
  program?: ProgramInput;
  continuedState?: ContinueAsNewState;
  /** The resolved agent, and the task that saw it. Undefined if the agent was never resolved. */
  resolved?: Omit<Extract<Resolved, { type: 'resolved' }>, 'type'> & { task: number };
  /** All activities but the local ones, in the order in which the workflow requested them. */
  activities: NamedActivity[];
  /**
   * Local tool calls and segments of code, in the order in which they ended. History does not hold their input; `scheduledIn` is the task
   * in which they ended.
   */
  localCalls: RecordedActivity<LocalActivity, RunToolOutput | RunSegmentOutput>[];
  /** What the run has looked up inside a workflow task of bursts that it was about to cancel: no call of the loop waits for it. */
  checkpoints: RecordedActivity<LocalActivity, unknown>[];
  /** The children of a program, by run id. */
  children: Map<string, RecordedChild>;
  /** All activities that ended, in that order. */
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
  /** The task that told the parent what it had received when the execution continued as new: the loop can have ended from then on. */
  toldIn?: number;
  /** The attempts, of the last two of each activity, that have ended because their worker did not answer any more. */
  losses?: LostActivity[];
  /** The attempts with which activities have ended by the word of a worker, in that order. */
  endedAttempts?: EndedAttempt[];
  end?: ExecutionEnd;
}

/** The attempt with which an activity has ended. Times are those of the server, in milliseconds since the epoch. */
export interface EndedAttempt {
  name: string;
  input: unknown;
  /** Temporal's id of the activity. Empty for a local one. */
  activityId: string;
  /** 1-based. Undefined if workers count the attempts, and have not recorded how many there were. */
  attempt?: number;
  /** When its worker had a local activity, by the clock of the worker: the name of its span has it. Absent: it was not local. */
  localAt?: number;
  scheduledAt: number;
  startedAt: number;
  endedAt: number;
  output?: unknown;
  failure?: Error;
}

/** What a call of a tool in a burst was about: the history has its outcome alone. */
export interface ToolCallInBurst {
  name: string;
  input: Pick<RunToolInput, 'callId' | 'agentName' | 'step' | 'at' | 'ofProgram'>;
}

/** Returns what names a tool call. The rest of its input, the dependencies and the state of its run, would be kept once for each call. */
export function toolCallInBurst({ name, input }: { name: string; input: RunToolInput }): ToolCallInBurst {
  const { callId, agentName, step, at, ofProgram } = input;
  return { name, input: { callId, agentName, step, at, ...defined({ ofProgram }) } };
}

/** An attempt at an activity whose worker has not answered any more. Times are in milliseconds since the epoch. */
export interface LostActivity {
  name: string;
  input: unknown;
  /** Temporal's id of the activity. */
  activityId: string;
  /** 1-based, without those that workers could not make, or that were parked. */
  attempt: number;
  scheduledAt: number;
  /** When the server gave it up, or the next attempt began. */
  endedAt: number;
}

/** An activity with the name that history gives it. */
export type NamedActivity = RecordedActivity<unknown, unknown> & { name: string };

/** Returns the activities of a name, in the order in which the workflow requested them. */
export function activitiesNamed<Name extends ActivityName>(
  { activities }: Pick<RecordedExecution, 'activities'>,
  name: Name,
): RecordedActivity<InputOf<Name>, ResultOf<Name>>[] {
  return activities.filter((one) => one.name === name) as (NamedActivity & RecordedActivity<InputOf<Name>, ResultOf<Name>>)[];
}

/** True for the activity that resolves an agent in the middle of a run: one that takes over, or that of a session once more. */
export function isHandoff({ name, input }: Pick<NamedActivity, 'name' | 'input'>): boolean {
  return name === 'resolveAgent' && isJsonObject(input) && 'from' in input;
}

export function isToolActivity(name: string): boolean {
  return !isOwnActivity(name);
}

/** Returns the calls of tools that were not local, in the order in which the workflow requested them. */
export function toolCallsOf({ activities }: Pick<RecordedExecution, 'activities'>): RecordedActivity<RunToolInput, RunToolOutput>[] {
  return activities.filter(({ name }) => isToolActivity(name)) as (NamedActivity & RecordedActivity<RunToolInput, RunToolOutput>)[];
}

/** Returns an execution of which nothing was read yet. */
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

/** Returns what is recorded of a child, and adds it if there is nothing yet. */
export function childOf({ children }: RecordedExecution, runId: string): RecordedChild {
  let child = children.get(runId);
  if (child === undefined) children.set(runId, (child = { nextTurns: [], interrupts: [], reports: [] }));
  return child;
}

/** The part of a child that an event is about. */
export type ChildPart = 'started' | 'closed' | 'told' | 'cancelled';

/** The signals of which a child may receive several. */
type SignalList = 'nextTurns' | 'interrupts' | 'reports';

const SIGNAL_LISTS = new Map<string, SignalList>([
  [SIGNALS.nextTurn, 'nextTurns'],
  [SIGNALS.interrupt, 'interrupts'],
  [SIGNALS.childEnded, 'reports'],
]);

/** The request of an event to a child: the parts that begin with it, and the list that a signal belongs to. */
interface ChildRequest {
  runId: string;
  parts: ChildPart[];
  list?: SignalList;
}

/** Returns the child that an event requests something of, and the parts that begin with it. */
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
  /** The kind of an end that has no failure in the history. */
  ended?: 'failed' | 'cancelled' | 'terminated' | 'timed_out';
}

/** Returns the answer that an event is to an earlier request; undefined for any other event. */
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
  /** The time at which it was requested, in milliseconds since the epoch, and the number of its last attempt. */
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

/** The size of a history at the start of a workflow task, as the server told it to the workflow. */
export interface TaskSize {
  events: number;
  bytes: number;
  /** The server suggested to continue as new. */
  isSuggested: boolean;
}

export function sizeAt(
  { eventId }: HistoryEvent,
  { historySizeBytes, suggestContinueAsNew }: NonNullable<HistoryEvent['workflowTaskStartedEventAttributes']>,
): TaskSize {
  return { events: Number(eventId), bytes: Number(historySizeBytes ?? 0), isSuggested: suggestContinueAsNew ?? false };
}

/** True if the history was too full at a task to grow by that much. */
export function isFull(size: TaskSize | undefined, growth: Growth, limit: ContinueAsNewThresholds = DEFAULT_THRESHOLDS): boolean {
  if (size === undefined) return false;
  return size.isSuggested || size.events + growth.events > limit.events || size.bytes + growth.bytes > limit.bytes;
}

/**
 * False if a history in which the run has decided to continue was full for the growth of an activity, but not for this one: in one
 * workflow task, steps that run side by side ask for both. True if something else than the size has decided.
 */
export function isFullFor(growth: Growth, size: TaskSize | undefined, limit?: ContinueAsNewThresholds): boolean {
  return size === undefined || isFull(size, growth, limit) || !isFull(size, ACTIVITY, limit);
}
