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

/** True for an event that completes a step: the last results of the calls of a response, or a response without calls. */
export function completesStep({ content, given, usage, interrupted, compaction, partial, failed, caller, title }: Event): boolean {
  // The results of calls of code are parts of the step that runs the code.
  if (given || caller === 'code') return false;
  if (content.some(({ type }) => type === 'tool_result')) return !partial;
  const isResponse = usage !== undefined && !interrupted && !failed && compaction === undefined && title === undefined;
  return isResponse && !content.some(({ type }) => type === 'tool_call');
}
