import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { localActivityOf } from '../src/history/recorded-markers.ts';
import type { HistoryEvent } from '../src/history/history-events.ts';
import { activityStep } from '../src/core/domain/run/activity-step.ts';
import type { CommandType, RecordedCommand } from '../workflows/interceptors/command-recorder.ts';

/** A command that the server recorded, and its event. */
export interface HistoryCommand extends RecordedCommand {
  eventId: number;
}

/** The commands of one workflow task in a history. */
export interface HistoryTask {
  /** The id of the event that began it. */
  task: number;
  /** The id of the event that recorded its end: a command follows it. */
  completed: number;
  commands: HistoryCommand[];
}

/** Returns the completed workflow tasks of a history, in order, with their commands. */
export function historyTasks(events: readonly HistoryEvent[]): HistoryTask[] {
  const tasks: HistoryTask[] = [];
  for (const event of events) {
    const completed = event.workflowTaskCompletedEventAttributes;
    if (completed) tasks.push({ task: Number(completed.startedEventId), completed: Number(event.eventId), commands: [] });
    const command = commandOf(event);
    if (command !== undefined) tasks.at(-1)?.commands.push({ ...command, eventId: Number(event.eventId) });
  }
  return tasks;
}

/** Returns the workflow type that a history begins with. */
export function workflowTypeOf(events: readonly HistoryEvent[]): string {
  return events[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
}

/**
 * Returns the command behind an event. Patches are omitted: the position of a marker says little about when the code
 * called `patched`.
 */
function commandOf(event: HistoryEvent): RecordedCommand | undefined {
  const activity = event.activityTaskScheduledEventAttributes;
  if (activity) {
    const step = activityStep(decoded(event.userMetadata?.summary), decoded(activity.input?.payloads?.[0]));
    return { type: 'activity', name: activity.activityType?.name ?? '', ...(step === undefined ? {} : { step }) };
  }
  const marker = event.markerRecordedEventAttributes;
  const local = marker ? localActivityOf(marker) : undefined;
  if (local) return { type: 'local_activity', name: local.name };
  const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (child) return { type: 'child', name: child.workflowType?.name ?? '' };
  const signal = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  if (signal) return { type: 'external_signal', name: signal.signalName ?? '' };
  const operation = event.nexusOperationScheduledEventAttributes;
  if (operation) return { type: 'nexus_operation', name: operation.operation ?? '' };
  if (isPatchAttribute(event)) return undefined;
  const type = NAMELESS.find(([field]) => event[field])?.[1];
  return type === undefined ? undefined : { type, name: '' };
}

const NAMELESS: readonly (readonly [keyof HistoryEvent, CommandType])[] = [
  ['activityTaskCancelRequestedEventAttributes', 'activity_cancel'],
  ['timerStartedEventAttributes', 'timer'],
  ['timerCanceledEventAttributes', 'timer_cancel'],
  ['requestCancelExternalWorkflowExecutionInitiatedEventAttributes', 'external_cancel'],
  ['upsertWorkflowSearchAttributesEventAttributes', 'search_attributes'],
  ['workflowPropertiesModifiedEventAttributes', 'memo'],
  ['workflowExecutionUpdateAcceptedEventAttributes', 'update_accepted'],
  ['workflowExecutionUpdateCompletedEventAttributes', 'update_completed'],
  ['nexusOperationCancelRequestedEventAttributes', 'nexus_operation_cancel'],
  ['workflowExecutionCompletedEventAttributes', 'complete'],
  ['workflowExecutionFailedEventAttributes', 'fail'],
  ['workflowExecutionCanceledEventAttributes', 'cancel'],
  ['workflowExecutionContinuedAsNewEventAttributes', 'continue_as_new'],
];

/** True for the search attribute with which the SDK makes a run findable by its patches: it is not a command of the code. */
function isPatchAttribute({ upsertWorkflowSearchAttributesEventAttributes: upsert }: HistoryEvent): boolean {
  const fields = Object.keys(upsert?.searchAttributes?.indexedFields ?? {});
  return fields.length === 1 && fields[0] === 'TemporalChangeVersion';
}

/** Decodes a payload; undefined if a codec made it unreadable, in which case only the step is unknown. */
function decoded(payload: Payload | null | undefined): unknown {
  try {
    return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
  } catch {
    return undefined;
  }
}
