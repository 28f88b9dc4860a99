import type { HistoryEvent } from '../history-events.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../../core/domain/run.ts';
import type { Growth } from '../../core/loop/ports.ts';
import { ACTIVITY } from '../../core/program/interpreter/program-run.ts';

/** The size of a history at the start of a workflow task, as the server told it to the workflow. */
export interface TaskSize {
  events: number;
  bytes: number;
  /** The server suggested to continue as new. */
  isSuggested: boolean;
}

/** Returns the size that the start of a workflow task tells. */
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
