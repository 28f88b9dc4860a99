import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { errorCode, errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { recordsInOrder } from '../core/domain/record.ts';
import { isoTime, milliseconds } from '../core/domain/time.ts';
import type { RunState } from '../core/kernel/run-state.ts';
import { type CallModelInput, SIGNALS } from '../core/protocol.ts';
import { agentsOf } from '../core/queries/run-views.ts';
import { requireKnown, wholeNumber } from '../define/option-checks.ts';
import { ExecutionReader } from '../history/execution-reader.ts';
import { type HistoryEvent, runHistory } from '../history/history-events.ts';
import { isModelCall, readBack } from '../history/read-run.ts';
import type { RecordedActivity } from '../history/recorded-execution.ts';
import { endRuns, GRACE } from './delete-run.ts';
import { RunChain } from './executions.ts';
import { updateRun } from './updates.ts';

/** The options of a retry. */
export interface RetryOptions {
  /** The step whose model call is made again, 1-based. Default: the last step for which the run called the model. */
  fromStep?: number;
}

/** The result of a retry. */
export interface RetryReceipt {
  /** The id of the new run. */
  runId: string;
  /** The step that the run continues from. 1-based. */
  fromStep: number;
  /** Temporal's run id of the execution that continues. */
  executionId: string;
  /** Names of the Updates and Signals after that point, in order. Their content is no longer part of the run. */
  dropped: string[];
}

/** Temporal's enum values: `RESET_REAPPLY_TYPE_NONE`, and the exclude types for Signals, Updates and cancellations. */
const REAPPLY_NOTHING = { resetReapplyType: 2, resetReapplyExcludeTypes: [1, 2, 4] };

/**
 * Lets a run that has ended continue from a step: Temporal resets its newest execution to the workflow task that called the
 * model for it. See docs/decisions/retries-are-resets.md. Throws `run_open`, `run_not_found`, and `invalid_input` for a step that
 * does not exist.
 */
export async function retryRun(client: Client, runId: string, options: RetryOptions): Promise<RetryReceipt> {
  requireKnown('"retry"', options, { fromStep: true });
  if (options.fromStep !== undefined) wholeNumber('retry: "fromStep"', options.fromStep, 1);
  const { executionId: ended, closed } = await new RunChain(client, runId).newest();
  if (!closed) {
    throw new LonghaulError('run_open', `Run "${runId}" is still running: wait for its end, or cancel it first, and retry it then`);
  }
  const { namespace, loadedDataConverter: converter } = client.options;
  const points = await retryPoints({ runId, executionId: ended, converter }, runHistory(client, runId, ended));
  const { fromStep, task } = retriedStep(runId, points, options);
  // A run that was terminated has ended none of them. The retried run would take the answer of an earlier call for that of its own.
  await endRuns(client, points.agents, { reason: `run "${runId}" is retried`, graceMs: milliseconds(GRACE, 'retry: "grace"') });
  const { runId: executionId } = await client.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: runId, runId: ended },
    reason: `retried from step ${fromStep}`,
    workflowTaskFinishEventId: task,
    // The server resets once per request id: callers that saw the same end get the same execution.
    requestId: `retry ${ended}`,
    ...REAPPLY_NOTHING,
  });
  const after = points.accepted.filter(({ eventId }) => eventId.greaterThan(task));
  const again = after.filter(({ update }) => update?.acceptedIn.equals(task));
  await sendAgain(client, runId, again);
  return { runId, fromStep, executionId, dropped: after.filter((one) => !again.includes(one)).map(({ name }) => name) };
}

/**
 * Resends the Updates that led to the step, such as an answer to a question or `resume`. Their events come after the task that
 * accepted them, so a reset to this task drops them.
 */
async function sendAgain(client: Client, runId: string, requests: RetryPoints['accepted']): Promise<void> {
  for (const { name, update } of requests) {
    if (update === undefined) continue;
    const { updateId, argument } = update;
    try {
      await updateRun(client, runId, { name, argument, updateId });
    } catch (error) {
      throw new LonghaulError(
        errorCode(error) ?? 'wait_timeout',
        `Run "${runId}" continues, but waits for the "${name}" that it had accepted before: send it again (${errorMessage(error)})`,
        { cause: error },
      );
    }
  }
}

/** Returns the step to continue from, and the task that called the model for it. Throws `invalid_input` if that is impossible. */
export function retriedStep(
  runId: string,
  points: RetryPoints,
  { fromStep: wanted }: { fromStep?: number },
): { fromStep: number; task: EventId } {
  requireTime(runId, points);
  const { firstTask, firstStep, tasks, isContinued } = points;
  if (firstTask === undefined) {
    const next = `start it again under its id with ifExists: 'restartFailed'`;
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be retried: it ended before a worker had begun it. Instead, ${next}`);
  }
  // A run that never called the model begins this execution again.
  const known = tasks.size === 0 ? new Map([[firstStep, firstTask]]) : tasks;
  const steps = [...known.keys()];
  const fromStep = wanted ?? Math.max(...steps);
  const task = known.get(fromStep);
  if (task !== undefined) return { fromStep, task };
  const [from, to] = [Math.min(...steps), Math.max(...steps)];
  if (fromStep > from && fromStep <= points.steps) {
    const before = Math.max(...steps.filter((step) => step < fromStep));
    const why = `step ${fromStep} is in the middle of a burst, which begins with step ${before}`;
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be retried from there: ${why}. Retry it from step ${before}`);
  }
  const there = from === to ? `step ${from}` : `a step from ${from} to ${to}`;
  const why =
    isContinued && fromStep < from
      ? `step ${fromStep} is in an earlier execution, which the run has left behind by continuing as new`
      : `it has no step ${fromStep}`;
  throw new LonghaulError('invalid_input', `Run "${runId}" cannot be retried from there: ${why}. Retry it from ${there}`);
}

/** Throws if the deadline has passed. It counts from the start of the run, so a retry would end at once and lose what it dropped. */
function requireTime(runId: string, { deadline }: RetryPoints): void {
  if (deadline === undefined || Date.now() < deadline) return;
  throw new LonghaulError(
    'invalid_input',
    `Run "${runId}" cannot be retried: its deadline was ${isoTime(deadline)}, and it would end at once. Start a new run`,
  );
}

/** The id of an event in its history, in the server's type. */
type EventId = NonNullable<HistoryEvent['eventId']>;

/** An Update or Signal that a run accepted: its event, and the workflow task that accepted it. */
interface AcceptedRequest {
  name: string;
  eventId: EventId;
  /** The content to resend. Present only for an Update. */
  update?: { updateId: string; argument: unknown; acceptedIn: EventId };
}

/** The points in an execution's history from which a retry can continue. A task is identified by the event that completed it. */
export interface RetryPoints {
  /** Undefined if no worker had begun the run. */
  firstTask?: EventId;
  /** The first step of this execution. 1-based. */
  firstStep: number;
  /** The last task that called the model for each step, in the order of the steps. */
  tasks: ReadonlyMap<number, EventId>;
  /** The number of the last completed step. */
  steps: number;
  isContinued: boolean;
  /** The deadline in milliseconds since the epoch. Undefined if there is none, or if the run asks for a higher limit when it is reached. */
  deadline?: number;
  accepted: readonly AcceptedRequest[];
  /** The ids of the agents that were running for the run at its end, or were kept by it. The retried run starts others. */
  agents: readonly string[];
}

/** The Signals that stop a run: a retry does not count them as dropped. */
const STOPPING = new Set<string>([SIGNALS.cancel, SIGNALS.cancelReason]);

/** Finds the workflow task that called the model for each step of an execution. */
export async function retryPoints(
  { runId, executionId, converter }: { runId: string; executionId: string; converter: LoadedDataConverter },
  history: AsyncIterable<HistoryEvent> | Iterable<HistoryEvent>,
): Promise<RetryPoints> {
  const reader = new ExecutionReader(executionId, converter);
  const { execution } = reader;
  /** The tasks that scheduled the model calls of the execution, in the order of the calls. */
  const asking: EventId[] = [];
  const accepted: AcceptedRequest[] = [];
  let firstTask: EventId | undefined;
  let task: EventId | undefined;
  // A run continues from the model call that begins a burst, not from a step inside it.
  const modelCalls = (): RecordedActivity<CallModelInput, unknown>[] => execution.activities.filter(isModelCall);
  for await (const event of history) {
    const { eventId } = event;
    const known = execution.inboundMessages.length;
    await reader.read(event);
    if (!eventId) continue;
    if (event.workflowTaskCompletedEventAttributes) {
      task = eventId;
      firstTask ??= eventId;
    }
    if (task !== undefined && event.activityTaskScheduledEventAttributes && modelCalls().length > asking.length) asking.push(task);
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
    if (signal && !STOPPING.has(signal)) accepted.push({ name: signal, eventId });
    const updateId = event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId;
    const message = updateId ? execution.inboundMessages[known] : undefined;
    if (!updateId || task === undefined || message === undefined) continue;
    const { name, argument } = message;
    accepted.push({ name, eventId, update: { updateId, argument, acceptedIn: task } });
  }
  const { state } = await readBack(runId, execution);
  const firstStep = (state?.context.currentStep ?? 0) - (state?.steps.length ?? 0) + 1;
  const ends = state === undefined ? [] : stepEnds(state);
  const deadline = state === undefined ? undefined : deadlineOf(state);
  const tasks = new Map<number, EventId>();
  for (const [index, { input }] of modelCalls().entries()) {
    const ended = ends.findIndex((end) => end >= input.through);
    const askingTask = asking[index];
    if (askingTask !== undefined) tasks.set(firstStep + (ended === -1 ? ends.length : ended), askingTask);
  }
  return {
    ...defined({ firstTask }),
    firstStep,
    tasks,
    steps: state?.context.currentStep ?? 0,
    isContinued: execution.continuedFrom !== undefined,
    ...defined({ deadline }),
    accepted,
    agents: state === undefined ? [] : agentsOf(state),
  };
}

/** Returns the offsets of the events that completed the steps of an execution. */
function stepEnds({ firstOffset, context, steps }: RunState): number[] {
  const ends: number[] = [];
  let offset = -1;
  for (const record of recordsInOrder({ firstOffset, events: context.events, firstStep: 0, steps })) {
    if (record.type === 'event') offset = record.offset;
    else ends.push(offset);
  }
  return ends;
}

function deadlineOf({ startedAt, limits }: RunState): number | undefined {
  return limits.deadlineMs === undefined || limits.onLimit === 'ask' ? undefined : startedAt + limits.deadlineMs;
}
