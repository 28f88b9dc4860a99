import type { LoadedDataConverter } from '@temporalio/common';
import { recordsInOrder } from '../../core/domain/record/run-record.ts';
import type { RunState } from '../../core/loop/state/run-state.ts';
import { SIGNALS } from '../../core/protocol.ts';
import { ExecutionReader } from '../../history/execution-reader.ts';
import { readBack } from '../../history/read-back.ts';
import type { HistoryEvent } from '../../history/history-events.ts';

/** The number of an event in its history, as the server takes it. */
export type EventId = NonNullable<HistoryEvent['eventId']>;

/** An Update or a Signal that a run accepted: the event that has it, and the workflow task that accepted it. */
interface AcceptedRequest {
  name: string;
  eventId: EventId;
  /** The content to send again. Present for an Update only. */
  update?: { updateId: string; argument: unknown; acceptedIn: EventId };
}

/** The points in the history of an execution from which a retry can go on. Tasks are named by the id of the event that completed them. */
export interface RetryPoints {
  /** Undefined if no worker had begun the run. */
  firstTask?: EventId;
  /** The step that comes first in this execution. 1-based. */
  firstStep: number;
  /** The task that asked the model for each step, in the order of the steps. If it asked several times, the last task. */
  tasks: ReadonlyMap<number, EventId>;
  isContinued: boolean;
  /** The time at which the run ends in any case, in milliseconds since the epoch. Undefined if there is none, or if the run asks for a higher limit then. */
  deadline?: number;
  accepted: readonly AcceptedRequest[];
}

/** The Signals that stop a run: a retry does not count them as dropped. */
const STOPPING = new Set<string>([SIGNALS.cancel, SIGNALS.cancelReason]);

/** Finds the workflow tasks that asked the model for each step of an execution. */
export async function retryPoints(
  { runId, executionId, converter }: { runId: string; executionId: string; converter: LoadedDataConverter },
  history: AsyncIterable<HistoryEvent> | Iterable<HistoryEvent>,
): Promise<RetryPoints> {
  const reader = new ExecutionReader(executionId, converter);
  const { execution } = reader;
  /** The tasks that asked for the model calls of the execution, in the order of the calls. */
  const asking: EventId[] = [];
  const accepted: AcceptedRequest[] = [];
  let firstTask: EventId | undefined;
  let task: EventId | undefined;
  for await (const event of history) {
    const { eventId } = event;
    const known = execution.inboundMessages.length;
    await reader.read(event);
    if (!eventId) continue;
    if (event.workflowTaskCompletedEventAttributes) {
      task = eventId;
      firstTask ??= eventId;
    }
    if (task !== undefined && execution.modelCalls.length > asking.length) asking.push(task);
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
  for (const [index, { input }] of execution.modelCalls.entries()) {
    const ended = ends.findIndex((end) => end >= input.through);
    const askingTask = asking[index];
    if (askingTask !== undefined) tasks.set(firstStep + (ended === -1 ? ends.length : ended), askingTask);
  }
  return {
    ...(firstTask === undefined ? {} : { firstTask }),
    firstStep,
    tasks,
    isContinued: execution.continuedFrom !== undefined,
    ...(deadline === undefined ? {} : { deadline }),
    accepted,
  };
}

/** The offsets of the events that completed the steps of an execution. */
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
