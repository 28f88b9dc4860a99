import { createHash } from 'node:crypto';
import type { ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import { callIdAt } from '../core/program/state/address.ts';
import type { RecordedExecution } from './recorded-execution.ts';

/**
 * Returns the ids of the events that the workflow created itself, by offset, as far as history records them: the
 * inputs of model calls and summaries name some, and the state of the next execution names those that it carries
 * over.
 */
export function recordedEventIds({ modelCalls, summaries }: RecordedExecution, next: ContinueAsNewState | undefined): Map<number, string> {
  const ids = new Map<number, string>();
  for (const { input } of [...summaries, ...modelCalls]) ids.set(input.through - 1, input.lastEventId);
  for (const { input } of modelCalls) {
    const earlier = input.earlierIds ?? [];
    for (const [index, id] of earlier.entries()) if (id !== '') ids.set(input.through - 1 - earlier.length + index, id);
  }
  if (next === undefined) return ids;
  ids.set(next.window.through - 1, next.window.lastEventId);
  for (const { offset, id } of next.window.events) ids.set(offset, id);
  return ids;
}

/**
 * Returns the ids of the events of calls of a program, by the ids of the calls, as far as activities and the state of the next execution
 * name them.
 */
export function recordedCallEvents(
  { toolCalls, termsRequests, notifications }: RecordedExecution,
  next: ContinueAsNewState | undefined,
): Map<string, string> {
  const calls = [...toolCalls.values(), ...termsRequests.values()].map(({ input }): [string, string] => [input.callId, input.eventId]);
  const waiting = notifications.map(
    ({
      input: {
        waiting: { callId, key },
      },
    }): [string, string] => [callId, key.split('/')[0] ?? ''],
  );
  const carried = (next?.program?.steps ?? []).flatMap(([at, { attempts, progress }]): [string, string][] => {
    const { call, callEventId } = progress ?? {};
    const reserved: [string, string][] = callEventId === undefined ? [] : [[callIdAt(at, attempts), callEventId]];
    return [...reserved, ...(call === undefined ? [] : [[call.callId, call.eventId] satisfies [string, string]])];
  });
  return new Map([...calls, ...waiting, ...carried]);
}

/** Returns an id for an event whose own id is not in history. It is the same each time the run is read back. */
export function derivedEventId(executionId: string, offset: number | string): string {
  const hex = createHash('sha256').update(`${executionId}/${offset}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
