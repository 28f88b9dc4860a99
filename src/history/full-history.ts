import type { ContinueAsNewThresholds } from '../core/domain/run/continue-as-new.ts';
import type { Growth } from '../core/loop/ports.ts';

/** The size of a history at the start of a workflow task, as the server told it to the workflow. */
export interface TaskSize {
  events: number;
  bytes: number;
  /** The server suggested to continue as new. */
  isSuggested: boolean;
}

/** True if the history was too full at a task to grow by that much. */
export function isFull(size: TaskSize | undefined, growth: Growth, limit: ContinueAsNewThresholds): boolean {
  if (size === undefined) return false;
  return size.isSuggested || size.events + growth.events > limit.events || size.bytes + growth.bytes > limit.bytes;
}
