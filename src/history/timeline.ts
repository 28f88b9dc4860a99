import type { LoadedDataConverter } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { recordOfBurst } from '../core/activity-requests/burst-requests.ts';
import { isOwnActivity, type RunBurstInput } from '../core/activity-requests/contracts.ts';
import type { StoredBurst } from '../core/bursts/burst.ts';
import { cutText } from '../core/domain/byte-budgets.ts';
import { isToolCall, type ToolCall } from '../core/domain/content.ts';
import { errorCode, errorMessage } from '../core/domain/errors.ts';
import { defined, isJsonObject } from '../core/domain/json.ts';
import { completesStep } from '../core/domain/record.ts';
import { isoTime } from '../core/domain/time.ts';
import { tracedPart } from '../core/domain/traced-part.ts';
import type { SpanKind, TimelineSpan } from '../core/domain/views.ts';
import type { HistoryEvent } from './history-events.ts';
import type { ReadExecution } from './read-run.ts';
import { type NamedActivity, patchOf, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';

/** Longhaul's own activities that call a model. */
const MODEL_CALLS: ReadonlySet<string> = new Set(['callModel', 'summarize', 'askStep']);

/** Longhaul's activities that represent a call made by the model. */
const CALLS: ReadonlySet<string> = new Set(['runCode']);

function kindOf(activity: string): SpanKind {
  if (MODEL_CALLS.has(activity)) return 'model';
  return CALLS.has(activity) || !isOwnActivity(activity) ? 'tool' : 'own';
}

/** The most bytes of a failure message. */
const FAILURE_BYTES = 300;

type Failure = Parameters<typeof decodeOptionalFailureToOptionalError>[1];

/** A span under construction. Times are in milliseconds since the epoch. */
interface OpenSpan extends Pick<
  TimelineSpan,
  'id' | 'kind' | 'name' | 'attempts' | 'failures' | 'ended' | 'step' | 'callId' | 'childRunId' | 'decision'
> {
  from: number;
  /** When a worker took the last attempt, or when a wait began. */
  taken?: number;
  to?: number;
  /** The number of events in the conversation of the model call. */
  through?: number;
  /** For a burst: the milliseconds of its calls, which have separate spans. */
  ofCallsMs?: number;
}

/**
 * The timeline of one execution, from its history: every activity with its attempts, every workflow task, every child, and,
 * once the execution is read back, the waits for people.
 */
export class ExecutionTimeline {
  readonly #converter: LoadedDataConverter;
  readonly #spans: OpenSpan[] = [];
  /** The open spans, by the event that began them. */
  readonly #open = new Map<string, OpenSpan>();
  /** The last span of each burst. */
  readonly #bursts = new Map<NamedActivity, OpenSpan>();
  #known = 0;
  #knownLocal = 0;
  #knownCheckpoints = 0;

  constructor(converter: LoadedDataConverter) {
    this.#converter = converter;
  }

  /** Takes the next event of the history, already applied to the execution. */
  async see(event: HistoryEvent, execution: RecordedExecution): Promise<void> {
    if ((await this.#seeActivity(event, execution)) || this.#seeTask(event) || this.#seeChild(event)) return;
    if (event.markerRecordedEventAttributes && patchOf(event.markerRecordedEventAttributes) === undefined) this.#seeLocal(event, execution);
  }

  /** Returns the spans in the order in which they began. `read`: the execution, as it was read back. */
  spans(read: ReadExecution): TimelineSpan[] {
    this.#addWaits(read);
    this.#addChildren(read);
    for (const [activity, burst] of this.#bursts) this.#addCalls(read, activity, burst);
    const { firstOffset, events, end } = read;
    const times = events.map(({ timestamp }) => Date.parse(timestamp));
    const steps = completedSteps(read);
    // What begins after the last event belongs to that event: the next execution begins with the next one.
    const last = end?.type === 'continued' && events.length > 0 ? firstOffset + events.length - 1 : Infinity;
    const ordered = this.#spans.toSorted((one, other) => one.from - other.from);
    let known = 0;
    return ordered.map(({ through, ofCallsMs = 0, from, taken, to, id, kind, name, step, ...span }) => {
      while (known < times.length && (times[known] ?? 0) <= from) known += 1;
      const ofModel = through === undefined ? undefined : (steps[Math.max(0, through - firstOffset)] ?? 0) + 1;
      const retried = (span.attempts ?? 1) > 1;
      const waited = taken === undefined ? undefined : taken - from;
      return {
        id,
        kind,
        name,
        offset: Math.min(firstOffset + known, last),
        from: isoTime(from),
        ...defined({ to: to === undefined ? undefined : isoTime(to) }),
        ...(waited === undefined || kind === 'person' || kind === 'child' ? {} : retried ? { retryMs: waited } : { queueMs: waited }),
        ...(to === undefined ? {} : { runMs: Math.max(0, to - (taken ?? from) - ofCallsMs) }),
        ...defined({ step: step ?? ofModel }),
        ...span,
      };
    });
  }

  async #seeActivity(event: HistoryEvent, execution: RecordedExecution): Promise<boolean> {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const started = event.activityTaskStartedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes;
    const timedOut = event.activityTaskTimedOutEventAttributes;
    const cancelled = event.activityTaskCanceledEventAttributes;
    const ended = event.activityTaskCompletedEventAttributes ?? failed ?? timedOut ?? cancelled;
    if (scheduled) {
      const name = scheduled.activityType?.name ?? '';
      const { activities } = execution;
      // An activity that is scheduled again for other workers is not a new activity to the run.
      const isNew = activities.length > this.#known;
      this.#known = activities.length;
      const activity = isNew ? activities.at(-1) : activities.findLast((one) => one.name === name && one.task === undefined);
      const span = this.#begin(event, { kind: kindOf(name), name, ...placeOf(activity) });
      if (name === 'runBurst' && activity !== undefined) this.#bursts.set(activity, span);
    } else if (started) {
      const span = this.#open.get(String(started.scheduledEventId));
      if (span === undefined) return true;
      span.taken = milliseconds(event);
      span.attempts = started.attempt ?? 1;
      await this.#addFailure(span, span.attempts - 1, started.lastFailure);
    } else if (ended) {
      const span = this.#end(String(ended.scheduledEventId), event);
      if (span === undefined) return true;
      if (cancelled) span.ended = 'cancelled';
      else if (failed) span.ended = 'failed';
      else if (timedOut) span.ended = 'timed_out';
      await this.#addFailure(span, span.attempts ?? 1, (failed ?? timedOut)?.failure);
    } else return false;
    return true;
  }

  async #addFailure(span: OpenSpan, attempt: number, failure: Failure): Promise<void> {
    if (!failure) return;
    const error = await decodeOptionalFailureToOptionalError(this.#converter, failure);
    const code = errorCode(error);
    (span.failures ??= []).push({ attempt, ...defined({ code }), message: cutText(errorMessage(error), FAILURE_BYTES) });
  }

  #seeTask(event: HistoryEvent): boolean {
    const started = event.workflowTaskStartedEventAttributes;
    const failed = event.workflowTaskFailedEventAttributes;
    const timedOut = event.workflowTaskTimedOutEventAttributes;
    const ended = event.workflowTaskCompletedEventAttributes ?? failed ?? timedOut;
    if (event.workflowTaskScheduledEventAttributes) this.#begin(event, { kind: 'task', name: 'workflow task' });
    else if (started) {
      const span = this.#open.get(String(started.scheduledEventId));
      if (span !== undefined) span.taken = milliseconds(event);
    } else if (ended) {
      const span = this.#end(String(ended.scheduledEventId), event);
      if (span !== undefined && !event.workflowTaskCompletedEventAttributes) span.ended = failed ? 'failed' : 'timed_out';
    } else return false;
    return true;
  }

  #seeChild(event: HistoryEvent): boolean {
    const initiated = event.startChildWorkflowExecutionInitiatedEventAttributes;
    const unstarted = event.startChildWorkflowExecutionFailedEventAttributes;
    const failed = event.childWorkflowExecutionFailedEventAttributes ?? unstarted;
    const cancelled = event.childWorkflowExecutionCanceledEventAttributes;
    const terminated = event.childWorkflowExecutionTerminatedEventAttributes;
    const timedOut = event.childWorkflowExecutionTimedOutEventAttributes;
    const ended = event.childWorkflowExecutionCompletedEventAttributes ?? failed ?? cancelled ?? terminated ?? timedOut;
    if (initiated) {
      const childRunId = initiated.workflowId ?? '';
      this.#begin(event, { kind: 'child', name: childRunId, childRunId });
    } else if (ended) {
      const span = this.#end(String(ended.initiatedEventId), event);
      if (span === undefined) return true;
      if (failed) span.ended = 'failed';
      else if (cancelled) span.ended = 'cancelled';
      else if (terminated) span.ended = 'terminated';
      else if (timedOut) span.ended = 'timed_out';
    } else return Boolean(event.childWorkflowExecutionStartedEventAttributes);
    return true;
  }

  /** Takes a local call. The server learns of it at the end of the workflow task, and the worker reports when it began. */
  #seeLocal(event: HistoryEvent, { localCalls, checkpoints }: RecordedExecution): void {
    const ofCall = localCalls.length > this.#knownLocal ? localCalls.at(-1) : undefined;
    const local = ofCall ?? (checkpoints.length > this.#knownCheckpoints ? checkpoints.at(-1) : undefined);
    this.#knownLocal = localCalls.length;
    this.#knownCheckpoints = checkpoints.length;
    if (local === undefined) return;
    const { input, failure } = local;
    const output: unknown = local.output;
    const recorded = milliseconds(event);
    const from = Math.min(input.scheduledAt ?? recorded, recorded);
    const durationMs = isJsonObject(output) && typeof output['durationMs'] === 'number' ? Math.round(output['durationMs']) : undefined;
    const callId = isJsonObject(output) && typeof output['callId'] === 'string' ? output['callId'] : undefined;
    this.#spans.push({
      id: String(event.eventId),
      kind: kindOf(input.name),
      name: input.name,
      from,
      taken: from,
      to: Math.min(recorded, durationMs === undefined ? recorded : from + durationMs),
      attempts: input.attempt ?? 1,
      ...defined({ callId }),
      ...(failure === undefined
        ? {}
        : { ended: 'failed', failures: [{ attempt: input.attempt ?? 1, message: cutText(errorMessage(failure), FAILURE_BYTES) }] }),
    });
  }

  #begin(event: HistoryEvent, span: Pick<OpenSpan, 'kind' | 'name' | 'childRunId' | 'step' | 'callId' | 'through'>): OpenSpan {
    const id = String(event.eventId);
    const open: OpenSpan = { id, from: milliseconds(event), ...span };
    this.#spans.push(open);
    this.#open.set(id, open);
    return open;
  }

  #end(began: string, event: HistoryEvent): OpenSpan | undefined {
    const span = this.#open.get(began);
    if (span === undefined) return undefined;
    span.to = milliseconds(event);
    this.#open.delete(began);
    return span;
  }

  /** Adds the waits for decisions, from request to decision, and the session's waits for its next message. */
  #addWaits({ events, recorded, run: { state, waited }, end }: ReadExecution): void {
    const carried = recorded.continuedState?.approvals.pending ?? [];
    const requested = new Map<string, number>(carried.map(({ callId, requestedAt }) => [callId, requestedAt]));
    const undecided = new Set(waited);
    let before = recorded.startedAt;
    let idle: OpenSpan | undefined;
    for (const event of events) {
      const at = Date.parse(event.timestamp);
      const { content, decision, turn, given } = event;
      if (given) continue;
      if (idle !== undefined && content.length > 0) {
        idle.to = at;
        idle = undefined;
      }
      for (const item of content) if (isToolCall(item)) requested.set(item.toolCallId, at);
      for (const item of content) {
        const from = item.type === 'tool_result' && undecided.has(item.toolCallId) ? requested.get(item.toolCallId) : undefined;
        // A cancellation, the deadline of the run, or a message has ended the wait.
        if (item.type === 'tool_result' && from !== undefined)
          this.#spans.push({ id: `wait ${item.toolCallId}`, kind: 'person', name: item.name, from, to: at, callId: item.toolCallId });
      }
      if (decision !== undefined) undecided.delete(decision.callId);
      if (decision !== undefined && decision.source !== 'remembered') {
        const { id, callId, toolName, type } = decision;
        const from = requested.get(callId) ?? before;
        this.#spans.push({ id: `decision ${id}`, kind: 'person', name: toolName, from, to: at, callId, decision: type });
      }
      if (turn !== undefined) {
        idle = { id: `message after turn ${turn.number}`, kind: 'person', name: 'message', from: at };
        this.#spans.push(idle);
      }
      before = at;
    }
    if (end !== undefined) {
      // The session was closed, so it no longer waits.
      if (idle !== undefined) idle.to = end.type === 'closed' ? end.at : before;
      return;
    }
    for (const { key, callId, toolName, requestedAt } of state?.approvals.pending ?? [])
      this.#spans.push({ id: `approval ${key}`, kind: 'person', name: toolName, from: requestedAt, callId });
  }

  /** Adds the recorded calls of a burst, which makes model calls one at a time, with tool calls in between. */
  #addCalls({ events, firstOffset, recorded }: ReadExecution, activity: NamedActivity, burst: OpenSpan): void {
    const record = recordOfBurst(activity as RecordedActivity<RunBurstInput, StoredBurst>, recorded.checkpoints);
    const { id, taken, to } = burst;
    if (record === undefined || to === undefined) return;
    // A later attempt counts from the time at which the burst was scheduled.
    const began = (burst.attempts ?? 1) > 1 ? burst.from : (taken ?? burst.from);
    const moment = (at: number): number => Math.min(to, began + Math.max(0, at));
    let [answeredAt, lastAt] = [0, 0];
    const calls: OpenSpan[] = [];
    for (const [index, { at, key, model, tool }] of record.entries.entries()) {
      const durationMs = tool?.type === 'result' ? tool.durationMs : null;
      const since = model === undefined ? Math.max(answeredAt, durationMs === null ? 0 : Math.round(at - durationMs)) : lastAt;
      const [from, ended] = [moment(Math.min(since, at)), moment(at)];
      const called = model === undefined ? callOf(key, { events, firstOffset }) : undefined;
      calls.push({
        id: `${id}.${index}`,
        ...(model === undefined ? { kind: 'tool', name: called?.name ?? 'tool' } : { kind: 'model', name: 'callModel' }),
        from,
        taken: from,
        to: ended,
        ...(model === undefined ? {} : { through: Number(key.slice(1)) }),
        ...(model?.type === 'failed' ? { ended: 'failed' } : {}),
        ...defined({ callId: called?.toolCallId }),
      });
      lastAt = Math.max(lastAt, at);
      if (model !== undefined) answeredAt = lastAt;
    }
    this.#spans.push(...calls);
    burst.ofCallsMs = coveredMs(calls);
  }

  /** Adds the ends of children that this execution received as messages, and the calls that they belong to. */
  #addChildren({ events, steps, firstOffset, run: { agentName } }: ReadExecution): void {
    for (const { childRunId, callId, isError, from, to } of tracedPart({ agentName, firstOffset, events, steps }).children) {
      const known = this.#spans.findLast((span) => span.childRunId === childRunId && span.callId === undefined && span.from <= to);
      if (known === undefined) {
        const ended = isError ? { ended: 'failed' as const } : {};
        this.#spans.push({ id: `${childRunId} ${callId}`, kind: 'child', name: childRunId, childRunId, callId, from, to, ...ended });
        continue;
      }
      known.callId = callId;
      known.to ??= to;
    }
  }
}

/** Returns the number of completed steps before each event of an execution, and after the last one. */
function completedSteps({ events, firstStep }: ReadExecution): number[] {
  let steps = firstStep;
  const before = [steps];
  for (const event of events) before.push((steps += completesStep(event) ? 1 : 0));
  return before;
}

/** Returns the milliseconds covered by at least one span: tool calls overlap. */
function coveredMs(spans: readonly OpenSpan[]): number {
  let [sum, until] = [0, 0];
  for (const { from, to = from } of spans.toSorted((one, other) => one.from - other.from)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

/** Returns the call that a burst identifies by its place in the record; undefined if it is in another execution's record. */
function callOf(key: string, { events, firstOffset }: Pick<ReadExecution, 'events' | 'firstOffset'>): ToolCall | undefined {
  const [offset, index] = key.slice(1).split('/').map(Number);
  const item = events[(offset ?? NaN) - firstOffset]?.content[index ?? NaN];
  return item !== undefined && isToolCall(item) ? item : undefined;
}

/** Returns the call and the step that an activity belongs to, from its input. */
function placeOf(activity: NamedActivity | undefined): Pick<OpenSpan, 'step' | 'callId' | 'through'> {
  if (activity === undefined || !isJsonObject(activity.input)) return {};
  const { callId, step, through } = activity.input;
  return {
    ...(typeof callId === 'string' ? { callId } : {}),
    ...(typeof step === 'number' ? { step } : {}),
    ...(activity.name === 'callModel' && typeof through === 'number' ? { through } : {}),
  };
}

function milliseconds({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}
