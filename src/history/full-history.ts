import type { Growth } from '../core/loop/ports.ts';
import { ACTIVITY } from '../core/program/interpreter/program-run.ts';
import { type ContinueAsNewThresholds, DEFAULT_THRESHOLDS } from '../core/domain/run/continue-as-new.ts';

/** The size of a history when a workflow task began. */
export interface HistorySize {
  events: number;
  bytes: number;
}

/**
 * False if a history in which the run has decided to continue was full for the growth of an activity, but not for this one: in one
 * workflow task, steps that run side by side ask for both. True if something else than the size has decided.
 */
export function isFullFor(
  growth: Growth,
  size: HistorySize | undefined,
  { events, bytes }: Pick<ContinueAsNewThresholds, 'events' | 'bytes'> = DEFAULT_THRESHOLDS,
): boolean {
  if (size === undefined) return true;
  const exceeds = (more: Growth): boolean => size.events + more.events > events || size.bytes + more.bytes > bytes;
  return exceeds(growth) || !exceeds(ACTIVITY);
}
