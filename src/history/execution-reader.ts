import { nameOfStart } from '../core/first-start.ts';
import { originProblem } from '../core/input-checks.ts';
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { CancelledFailure, type LoadedDataConverter, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { markingConverter } from '../codec/with-codec.ts';
import { activityProblem } from '../core/activity-requests/activity-request.ts';
import { splitResolved } from '../core/activity-requests/agent-requests.ts';
import { hasTrait, traitsOf } from '../core/activity-requests/contracts.ts';
import { type AgentSnapshot, withDocument } from '../core/domain/agent.ts';
import { registrationIn } from '../core/domain/batch.ts';
import { defined, isJsonObject, type JsonObject } from '../core/domain/json.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { uncountedAttemptsIn } from '../core/domain/missing-definitions.ts';
import type { Principal } from '../core/domain/run.ts';
import { type ContinueAsNewState, readContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import { ACTIVITIES, type ProgramInput, type ResolveAgentOutput, type RunInput, SIGNALS, UPDATES } from '../core/protocol.ts';
import { continuedFrom, type HistoryEvent, isClose, runHistory, startedEvent } from './history-events.ts';
import {
  type ChildAnswer,
  childAnswer,
  childOf,
  type ChildPart,
  childRequest,
  emptyExecution,
  isHandoff,
  localActivityOf,
  type Marker,
  type NamedActivity,
  patchOf,
  type RecordedActivity,
  type RecordedExecution,
  type RecordedInboundMessage,
  sizeAt,
  type TaskSize,
} from './recorded-execution.ts';
import { parentOf } from '../core/domain/run-input.ts';
import { sessionOf, sessionProblem } from '../core/domain/sessions.ts';

type Payloads = { payloads?: object[] | null } | null | undefined;

/** An event that the next workflow task sees. */
interface Unseen {
  see(task: number): unknown;
}

/** Called with each event of a history, once it has been applied to the execution. */
export type SeeEvent = (event: HistoryEvent, execution: RecordedExecution) => void | Promise<void>;

/**
 * Reads the history of one execution of a run, without a worker. Rejects with `NOT_FOUND` if the server does not have
 * it.
 */
export async function recordedExecution(client: Client, runId: string, executionId: string, see?: SeeEvent): Promise<RecordedExecution> {
  const reader = new ExecutionReader(executionId, client.options.loadedDataConverter);
  for await (const event of runHistory(client, runId, executionId)) {
    await reader.read(event);
    await see?.(event, reader.execution);
  }
  return reader.execution;
}

/** The timeout types of an attempt that a worker has begun: `START_TO_CLOSE` and `HEARTBEAT`. */
const LOSSES: ReadonlySet<number> = new Set([1, 4]);

/** An attempt at an activity that has ended without an answer. */
interface FailedAttempt {
  scheduledEventId: HistoryEvent['eventId'];
  failure: temporal.api.failure.v1.IFailure | null | undefined;
  attempt: number;
}

/** Reads one history, event by event. */
export class ExecutionReader {
  readonly execution: RecordedExecution;
  readonly #converter: LoadedDataConverter;
  /** Decodes messages to the run. The workflow refuses an unreadable message and continues, so it is marked here. */
  readonly #marking: LoadedDataConverter;
  readonly #scheduled = new Map<string, NamedActivity>();
  /** The schedule times of activities, and their begun attempts, by the scheduling event. */
  readonly #scheduledAt = new Map<string, number>();
  readonly #attempts = new Map<string, number>();
  /** The starts of the last attempts, and the activity ids, by the same event. */
  readonly #startedAt = new Map<string, number>();
  readonly #activityIds = new Map<string, string>();
  /** The activities whose attempts workers count, because some of them do not. */
  readonly #countedByWorkers = new Set<string>();
  /** Arguments of Updates that a reset admitted again: the event of their acceptance does not repeat them. */
  readonly #admitted = new Map<string, { name: string; argument: unknown }>();
  /** Events since the last workflow task began, which the next task sees. */
  #unseen: Unseen[] = [];
  #started: { time: number; size: TaskSize; sees: Unseen[] } | undefined;
  /** The tasks that notified the parent whether the run waits, by the event of the signal. */
  readonly #telling = new Map<string, number>();
  /** The last of these tasks whose signal was delivered, and the task that saw the delivery. */
  #told: { toldIn: number; seenIn: number } | undefined;

  constructor(executionId: string, converter: LoadedDataConverter) {
    this.#converter = converter;
    this.#marking = markingConverter(converter);
    this.execution = emptyExecution(executionId);
  }

  /** Reads the next event. */
  async read(event: HistoryEvent): Promise<void> {
    if (event.workflowExecutionStartedEventAttributes) await this.#start(event);
    else if (
      this.#readTask(event) ||
      this.#readClose(event) ||
      this.#readTelling(event) ||
      (await this.#readActivity(event)) ||
      (await this.#readChild(event)) ||
      (await this.#readInboundMessage(event))
    )
      return;
    else if (event.timerFiredEventAttributes) this.#unseen.push({ see: (task) => this.execution.timers.add(task) });
    else if (event.markerRecordedEventAttributes) await this.#mark(event.markerRecordedEventAttributes);
  }

  async #start(event: HistoryEvent): Promise<void> {
    const { execution } = this;
    execution.startedAt = milliseconds(event);
    const before = continuedFrom(event);
    if (before !== undefined) execution.continuedFrom = before;
    const [input] = await this.#decode(event.workflowExecutionStartedEventAttributes?.input);
    if (!isJsonObject(input) || !('continuedState' in input)) {
      if (isJsonObject(input) && 'program' in input) execution.program = input as JsonObject & ProgramInput;
      else execution.input = input as RunInput;
      return;
    }
    const { cronSchedule, attempt } = event.workflowExecutionStartedEventAttributes ?? {};
    // The workflow refuses the same inputs.
    if (originProblem({ continuedFrom: before, cronSchedule: cronSchedule ?? '', attempt: attempt ?? 1 }) !== undefined) return;
    const read = readContinueAsNewState(input['continuedState']);
    if (!read.ok) {
      const { executionId } = execution;
      throw new LonghaulError('history_unreadable', `Execution "${executionId}" cannot be read by this release: ${read.problem}`);
    }
    execution.continuedState = read.continuedState;
    execution.resolved = { snapshot: read.continuedState.snapshot, task: 1 };
  }

  /**
   * Reads the events of workflow tasks. A task that failed or timed out has seen nothing; the next task sees its
   * events.
   */
  #readTask(event: HistoryEvent): boolean {
    const start = event.workflowTaskStartedEventAttributes;
    if (start) {
      this.#started = { time: milliseconds(event), size: sizeAt(event, start), sees: this.#unseen };
      this.#unseen = [];
    } else if (event.workflowTaskCompletedEventAttributes) {
      const task = this.execution.taskTimes.push(this.#started?.time ?? milliseconds(event));
      if (this.#started !== undefined) (this.execution.taskSizes ??= [])[task - 1] = this.#started.size;
      for (const unseen of this.#started?.sees ?? []) unseen.see(task);
      this.#started = undefined;
    } else if (event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes) {
      this.#unseen = [...(this.#started?.sees ?? []), ...this.#unseen];
      this.#started = undefined;
    } else {
      return false;
    }
    return true;
  }

  #readClose(event: HistoryEvent): boolean {
    const { execution } = this;
    const continued = event.workflowExecutionContinuedAsNewEventAttributes;
    if (continued) execution.end = { type: 'continued', executionId: continued.newExecutionRunId ?? '' };
    else if (isClose(event)) {
      const cancelled = Boolean(event.workflowExecutionCanceledEventAttributes);
      execution.end = { type: 'closed', cancelled, at: milliseconds(event) };
    } else return false;
    if (execution.decidedIn !== undefined) return true;
    execution.decidedIn = execution.taskTimes.length;
    // An execution continues only once its parent has received the notification: its loop may have ended before the delivery.
    if (continued && this.#told?.seenIn === execution.decidedIn) execution.toldIn = this.#told.toldIn;
    return true;
  }

  /** Reads the signals that notify the parent whether the run waits, and their delivery. */
  #readTelling(event: HistoryEvent): boolean {
    const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
    if (signal?.signalName === SIGNALS.childWaiting) {
      this.#telling.set(String(event.eventId), this.execution.taskTimes.length);
      return true;
    }
    const end = event.externalWorkflowExecutionSignaledEventAttributes ?? event.signalExternalWorkflowExecutionFailedEventAttributes;
    const toldIn = this.#telling.get(String(end?.initiatedEventId));
    if (toldIn === undefined) return false;
    this.#unseen.push({ see: (seenIn) => (this.#told = { toldIn: Math.max(toldIn, this.#told?.toldIn ?? 0), seenIn }) });
    return true;
  }

  async #readActivity(event: HistoryEvent): Promise<boolean> {
    const completed = event.activityTaskCompletedEventAttributes;
    const started = event.activityTaskStartedEventAttributes;
    const timedOut = event.activityTaskTimedOutEventAttributes;
    const failed = event.activityTaskFailedEventAttributes;
    const cancelled = event.activityTaskCanceledEventAttributes;
    const givenUp = event.activityTaskCancelRequestedEventAttributes;
    if (event.activityTaskScheduledEventAttributes) await this.#schedule(event);
    else if (started) {
      const attempt = started.attempt ?? 1;
      this.#attempts.set(String(started.scheduledEventId), attempt);
      this.#startedAt.set(String(started.scheduledEventId), milliseconds(event));
      // The start of a retried call's last attempt carries the failure of the attempt before it.
      await this.#noteLoss(event, { scheduledEventId: started.scheduledEventId, failure: started.lastFailure, attempt: attempt - 1 });
    } else if (completed) this.#endAttempt(event, completed.scheduledEventId, { output: (await this.#decode(completed.result))[0] });
    else if (timedOut) {
      const failure = await decodeOptionalFailureToOptionalError(this.#converter, timedOut.failure);
      const ending = { failure: failure ?? new Error('unknown failure') };
      this.#endAttempt(event, timedOut.scheduledEventId, ending, { isAnswered: false });
      const attempt = this.#attempts.get(String(timedOut.scheduledEventId)) ?? 0;
      await this.#noteLoss(event, { scheduledEventId: timedOut.scheduledEventId, failure: timedOut.failure, attempt });
    } else if (failed) {
      const failure = await decodeOptionalFailureToOptionalError(this.#converter, failed.failure);
      this.#endAttempt(event, failed.scheduledEventId, { failure: failure ?? new Error('unknown failure') });
    } else if (cancelled) this.#endAttempt(event, cancelled.scheduledEventId, { failure: new CancelledFailure('cancelled') });
    else if (givenUp) {
      const activity = this.#scheduled.get(String(givenUp.scheduledEventId));
      if (activity !== undefined) activity.givenUpIn = this.execution.taskTimes.length;
    } else return false;
    return true;
  }

  /**
   * Ends an activity, with its last attempt if the worker has answered. A burst always ends with an attempt: its stored part
   * may be known.
   */
  #endAttempt(
    event: HistoryEvent,
    scheduledEventId: HistoryEvent['eventId'],
    ending: { output?: unknown; failure?: Error },
    { isAnswered = true }: { isAnswered?: boolean } = {},
  ): void {
    const id = String(scheduledEventId);
    const activity = this.#scheduled.get(id);
    const attempt = this.#attempts.get(id);
    this.#end(scheduledEventId, ending);
    // The server ends an activity between two attempts without a start.
    const hasEnded = (isAnswered && attempt !== undefined) || activity?.name === ACTIVITIES.runBurst;
    if (activity === undefined || !hasEnded) return;
    const isCounted = attempt !== undefined && (attempt === 1 || !this.#countedByWorkers.has(id));
    const { name, input } = activity;
    (this.execution.endedAttempts ??= []).push({
      name,
      input,
      activityId: this.#activityIds.get(id) ?? '',
      ...(isCounted ? { attempt } : {}),
      scheduledAt: this.#scheduledAt.get(id) ?? 0,
      startedAt: this.#startedAt.get(id) ?? 0,
      endedAt: milliseconds(event),
      ...ending,
    });
  }

  /** Records an attempt that a worker began but did not end in time. The event gives the time of its end. */
  async #noteLoss(event: HistoryEvent, { scheduledEventId, failure, attempt }: FailedAttempt): Promise<void> {
    const { timeoutType, lastHeartbeatDetails } = failure?.timeoutFailureInfo ?? {};
    const id = String(scheduledEventId);
    const activity = this.#scheduled.get(id);
    if (activity === undefined || attempt < 1 || !LOSSES.has(timeoutType ?? 0)) return;
    const [details] = this.#countedByWorkers.has(id) ? await this.#decode(lastHeartbeatDetails) : [];
    // Attempts at a call that waits for a batch have done nothing.
    if (registrationIn(details) !== undefined) return;
    const { name, input } = activity;
    (this.execution.losses ??= []).push({
      name,
      input,
      activityId: this.#activityIds.get(id) ?? '',
      attempt: attempt - uncountedAttemptsIn(details),
      scheduledAt: this.#scheduledAt.get(id) ?? 0,
      endedAt: milliseconds(event),
    });
  }

  async #schedule(event: HistoryEvent): Promise<void> {
    const { execution } = this;
    const { activityId, activityType, input, retryPolicy } = event.activityTaskScheduledEventAttributes ?? {};
    const [decoded] = await this.#decode(input);
    const scheduledIn = execution.taskTimes.length;
    const activity: NamedActivity = { name: activityType?.name ?? '', input: decoded, scheduledIn };
    const before = rescheduledActivity(execution, activity);
    this.#scheduled.set(String(event.eventId), before ?? activity);
    this.#scheduledAt.set(String(event.eventId), milliseconds(event));
    this.#activityIds.set(String(event.eventId), activityId ?? '');
    const isWait = isJsonObject(decoded) && 'awaitsWorker' in decoded;
    if (isWait || !retryPolicy?.maximumAttempts) this.#countedByWorkers.add(String(event.eventId));
    // To the run, both are one activity, which ended as the last scheduling did.
    if (before !== undefined) return;
    execution.activities.push(activity);
    if (hasTrait('endsLoop', activity)) execution.decidedIn ??= scheduledIn;
  }

  /** Reads the events of children: each request about one, and its answer. */
  async #readChild(event: HistoryEvent): Promise<boolean> {
    const request = childRequest(event);
    for (const part of request?.parts ?? []) {
      const requested: NamedActivity = { name: part, input: undefined, scheduledIn: this.execution.taskTimes.length };
      const child = childOf(this.execution, request?.runId ?? '');
      if (request?.list === undefined) Object.assign(child, { [part]: requested });
      else child[request.list].push(requested as RecordedActivity<undefined, unknown>);
      this.#scheduled.set(childKey(event.eventId, part), requested);
    }
    const answer = childAnswer(event);
    if (answer !== undefined) this.#end(childKey(answer.initiatedEventId, answer.part), await this.#endOfChild(answer));
    return request !== undefined || answer !== undefined;
  }

  async #endOfChild({ ended, failure, result }: ChildAnswer): Promise<{ output?: unknown; failure?: Error }> {
    if (ended === undefined) return { output: (await this.#decode(result))[0] ?? null };
    return { failure: childFailure(ended, await decodeOptionalFailureToOptionalError(this.#converter, failure)) };
  }

  #end(scheduledEventId: unknown, ending: { output?: unknown; failure?: Error }): void {
    const activity = this.#scheduled.get(String(scheduledEventId));
    if (activity === undefined) return;
    Object.assign(activity, ending);
    const resolves = traitsOf(activity.name).resolves && !isHandoff(activity) && ending.output !== undefined;
    this.#unseen.push({
      see: (task) => {
        activity.task = task;
        this.execution.ended.push(activity);
        if (!resolves) return;
        const resolved = resolvedAgent(this.execution, ending.output as ResolveAgentOutput, task);
        // The run has refused its agent, and ended.
        const isRefused = this.execution.input?.session !== undefined && sessionProblem(resolved.snapshot) !== undefined;
        if (!isRefused) this.execution.resolved = resolved;
      },
    });
  }

  async #readInboundMessage(event: HistoryEvent): Promise<boolean> {
    const signal = event.workflowExecutionSignaledEventAttributes;
    const admitted = event.workflowExecutionUpdateAdmittedEventAttributes?.request;
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    const cancel = event.workflowExecutionCancelRequestedEventAttributes;
    if (signal) {
      const [argument] = await this.#decodeSent(signal.input);
      this.#unseen.push({ see: (task) => this.#addInboundMessage({ by: 'signal', name: signal.signalName ?? '', argument, task }) });
    } else if (admitted) {
      this.#admitted.set(admitted.meta?.updateId ?? '', await this.#update(admitted.input));
    } else if (accepted) {
      const update = accepted.acceptedRequest ? await this.#update(accepted.acceptedRequest.input) : undefined;
      const known = update ?? this.#admitted.get(accepted.protocolInstanceId ?? '');
      if (known !== undefined) this.#addInboundMessage({ by: 'update', ...known, task: this.execution.taskTimes.length });
    } else if (cancel) {
      const request: RecordedExecution['cancel'] = { reason: cancel.cause ?? '' };
      this.execution.cancel ??= request;
      this.#unseen.push({ see: (task) => (request.task = task) });
    } else return false;
    return true;
  }

  async #update(input: { name?: string | null; args?: Payloads } | null | undefined): Promise<{ name: string; argument: unknown }> {
    const [argument] = await this.#decodeSent(input?.args);
    return { name: input?.name ?? '', argument };
  }

  #addInboundMessage(message: RecordedInboundMessage): void {
    this.execution.inboundMessages.push(message);
  }

  /** Reads a marker: a patch, or the end of a local activity, in the task that ran it. */
  async #mark(marker: Marker): Promise<void> {
    const { changes, checkpoints, localCalls, taskTimes } = this.execution;
    const patch = patchOf(marker);
    if (patch !== undefined) changes.add(patch);
    const local = localActivityOf(marker);
    if (local === undefined) return;
    const task = taskTimes.length;
    const failure = await decodeOptionalFailureToOptionalError(this.#converter, marker.failure);
    // The worker has cancelled it, and the run has repeated it.
    if (activityProblem(failure).type === 'cancelled' && !this.#hasCancelled(task)) return;
    const [output] = await this.#decode(marker.details?.['result']);
    const end = failure === undefined ? { output: output as never } : { failure };
    (local.name === ACTIVITIES.readCheckpoint ? checkpoints : localCalls).push({ input: local, scheduledIn: task, task, ...end });
  }

  /** True if a local call that ended as cancelled in this task was cancelled by the run or the turn, so it was not repeated. */
  #hasCancelled(now: number): boolean {
    const { cancel, inboundMessages } = this.execution;
    return cancel !== undefined || inboundMessages.some(({ name, task }) => name === UPDATES.interrupt && task === now);
  }

  async #decodeSent(payloads: Payloads): Promise<unknown[]> {
    return decodeArrayFromPayloads(this.#marking, payloads?.payloads);
  }

  async #decode(payloads: Payloads): Promise<unknown[]> {
    return decodeArrayFromPayloads(this.#converter, payloads?.payloads);
  }
}

/** Returns the time of an event in whole milliseconds, as the clock of a workflow shows it. */
function milliseconds({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}

/** Returns the key of a request about a child: its start and its end have the same event. */
function childKey(eventId: unknown, part: ChildPart): string {
  return `${String(eventId)}/${part}`;
}

/** Returns the failure that the parent of a child receives for its end. */
function childFailure(ended: NonNullable<ChildAnswer['ended']>, failure: Error | undefined): Error {
  switch (ended) {
    case 'cancelled':
      return new CancelledFailure('cancelled');
    case 'terminated':
      return new TerminatedFailure('terminated');
    case 'timed_out':
      return new TimeoutFailure('timed out', undefined, 'START_TO_CLOSE');
    case 'failed':
      return failure ?? new Error('it was not found, or could not start');
  }
}

/** Returns the agent that the first activity of a run resolved, with the parent's answer and the document in the run's input. */
function resolvedAgent(
  execution: Pick<RecordedExecution, 'input' | 'program'>,
  output: ResolveAgentOutput,
  task: number,
): NonNullable<RecordedExecution['resolved']> {
  const { snapshot, ...beside } = splitResolved(output);
  return { snapshot: withOwnDocument(execution, snapshot), ...beside, task };
}

function withOwnDocument(
  { input, program: ofProgram }: Pick<RecordedExecution, 'input' | 'program'>,
  snapshot: AgentSnapshot,
): AgentSnapshot {
  const program = ofProgram?.program;
  if (input?.document !== undefined) return withDocument(snapshot, input.document);
  return program === undefined || typeof program === 'string' ? snapshot : { ...snapshot, program };
}

/**
 * Returns the earlier activity that this one schedules again for other workers: to the run the two are one, which
 * ends as the last one does. Returns undefined for any other activity, and also after a local call, whose record is
 * removed as if it had never been made.
 */
function rescheduledActivity(execution: RecordedExecution, { name, input }: NamedActivity): NamedActivity | undefined {
  if (!isJsonObject(input) || !('awaitsWorker' in input)) return undefined;
  const { ended, localCalls } = execution;
  const request = withoutWait(input);
  const index = ended.findLastIndex(
    (one) => one.failure !== undefined && (one as NamedActivity).name === name && withoutWait(one.input) === request,
  );
  const [before] = index < 0 ? [] : ended.splice(index, 1);
  if (before !== undefined) {
    delete before.failure;
    delete before.task;
    return before as NamedActivity;
  }
  const local = localCalls.findIndex(({ input: call, failure }) => call.name === name && failure !== undefined);
  if (local >= 0) localCalls.splice(local, 1);
  return undefined;
}

function withoutWait(input: unknown): string {
  return JSON.stringify(isJsonObject(input) ? { ...input, awaitsWorker: null } : input);
}

/** Returns the name of the agent or the program in the input of a run; an empty text if there is none. */
export function nameOfInput({ input, program }: Pick<RecordedExecution, 'input' | 'program'>): string {
  if (program !== undefined) return nameOfStart({ type: 'program', input: program });
  return typeof input?.agent === 'string' ? input.agent : '';
}

/** One execution of a run, and the first event and step that it records. */
export interface ChainedExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The previous execution; undefined for the first. */
  continuedFrom?: string;
  /** Offset of the first event that it records. */
  firstOffset: number;
  /** Index of the first step that it records. */
  firstStep: number;
  /** The first turn that can end in it, if the run is a session. 1-based. */
  firstTurn: number;
}

export interface ExecutionBeginning {
  /** The type of the workflow. */
  workflowType: string;
  /** The agent or program in the input of the run; empty for a later execution. */
  nameOfInput: string;
  /** The previous execution; undefined for the first. */
  before?: string;
  /** The state that it carried over. */
  continuedState?: ContinueAsNewState;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The parent run. Absent: there is none. */
  parentRunId?: string;
  /** Temporal's run id of the first execution of that run. */
  parentFirstId?: string;
  /** Temporal's run id of the first execution. */
  firstExecutionId?: string;
  /** The caller's trace context. Only the first execution has it. */
  traceparent?: string;
  /** The run is a session. */
  isSession?: true;
}

/** Returns the beginning of an execution, by default the newest one; undefined if the server does not have it. */
export async function executionBeginning(client: Client, runId: string, executionId?: string): Promise<ExecutionBeginning | undefined> {
  const event = await startedEvent(client, runId, executionId);
  if (event === undefined) return undefined;
  const reader = new ExecutionReader(executionId ?? '', client.options.loadedDataConverter);
  await reader.read(event);
  const { continuedState, input, program, continuedFrom: before } = reader.execution;
  const { principal } = continuedState ?? program ?? input ?? {};
  const parent = continuedState === undefined ? (program ?? input)?.parent : parentOf(continuedState);
  const { traceparent } = program ?? input ?? {};
  const firstExecutionId = event.workflowExecutionStartedEventAttributes?.firstExecutionRunId ?? undefined;
  const ofParent = { parentRunId: parent?.runId, parentFirstId: parent?.firstRunId };
  const session = continuedState === undefined ? input?.session : sessionOf(continuedState);
  const isSession = session === undefined ? undefined : true;
  const workflowType = event.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
  return {
    workflowType,
    nameOfInput: nameOfInput(reader.execution),
    ...defined({ principal, ...ofParent, before, continuedState, firstExecutionId, traceparent, isSession }),
  };
}
