import type { Event } from './event.ts';
import type { StepResult } from './step.ts';

/** One line of the exported or archived record of a run: an event with its offset, or a step with its index. */
export type RunRecord = ({ type: 'event'; offset: number } & Event) | ({ type: 'step'; index: number } & StepResult);

/** A range of the record of a run. */
export interface RecordedStretch {
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  /** Index of the first step. */
  firstStep: number;
  steps: readonly StepResult[];
}

/** Yields events and steps in the order of their recording: each step follows the event that completed it. */
export function* recordsInOrder({ firstOffset, events, firstStep, steps }: RecordedStretch): Generator<RunRecord> {
  let next = 0;
  const step = function* (until: number): Generator<RunRecord> {
    for (; next < Math.min(until, steps.length); next += 1) {
      const recorded = steps[next];
      if (recorded !== undefined) yield { type: 'step', index: firstStep + next, ...recorded };
    }
  };
  for (const [index, event] of events.entries()) {
    yield { type: 'event', offset: firstOffset + index, ...event };
    if (completesStep(event)) yield* step(next + 1);
  }
  yield* step(steps.length);
}

/** True for the event at which a model call of an agent ends, with an answer or a part of one, or for good without. */
export function endsModelCall({ usage, compaction, title }: Pick<Event, 'usage' | 'compaction' | 'title'>): boolean {
  return usage !== undefined && compaction === undefined && title === undefined;
}

/** True for the event of an answer of a model, also of a part of one. Its id is the same however the record is read. */
export function isResponse(event: Pick<Event, 'usage' | 'compaction' | 'title' | 'failed'>): boolean {
  return endsModelCall(event) && event.failed === undefined;
}

/** True for an event that completes a step: the last results of the calls of a response, or a response without calls. */
export function completesStep(event: Event): boolean {
  const { content, given, interrupted, partial, caller } = event;
  // The results of calls of code are parts of the step that runs the code.
  if (given || caller === 'code') return false;
  if (content.some(({ type }) => type === 'tool_result')) return !partial;
  return isResponse(event) && !interrupted && !content.some(({ type }) => type === 'tool_call');
}
