import { createHash } from 'node:crypto';
import type { ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import type { RecordedExecution } from './recorded-execution.ts';

/**
 * The ids of the events that the workflow made itself, by offset: model calls and summaries name them in their inputs,
 * and the carry of the next execution names those that it carries.
 */
export function toldEventIds({ modelCalls, summaries }: RecordedExecution, next: ContinueAsNewState | undefined): Map<number, string> {
  const ids = new Map<number, string>();
  for (const { input } of [...summaries, ...modelCalls]) ids.set(input.through - 1, input.lastEventId);
  for (const { input } of modelCalls) {
    const earlier = input.earlierIds ?? [];
    for (const [index, id] of earlier.entries()) ids.set(input.through - 1 - earlier.length + index, id);
  }
  if (next === undefined) return ids;
  ids.set(next.window.through - 1, next.window.lastEventId);
  for (const { offset, id } of next.window.events) ids.set(offset, id);
  return ids;
}

/** The id of an event that nothing tells: the same whenever it is read back. */
export function derivedEventId(executionId: string, offset: number): string {
  const hex = createHash('sha256').update(`${executionId}/${offset}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
