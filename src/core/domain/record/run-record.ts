import type { Event } from './event.ts';
import type { StepResult } from './step.ts';

/** A line of the record of a run, as it is exported and archived: an event by its offset, or a step by its index. */
export type RunRecord = ({ type: 'event'; offset: number } & Event) | ({ type: 'step'; index: number } & StepResult);

/** A stretch of the record of a run. */
export interface RecordedStretch {
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  /** Index of the first step. */
  firstStep: number;
  steps: readonly StepResult[];
}

/** Events and steps in the order in which they came to be: each step follows the event that completed it. */
export function* recordsInOrder({ firstOffset, events, firstStep, steps }: RecordedStretch): Generator<RunRecord> {
  let next = 0;
  const step = function* (until: number): Generator<RunRecord> {
    for (; next < Math.min(until, steps.length); next += 1) {
      const recorded = steps[next];
      if (recorded !== undefined) yield { type: 'step', index: firstStep + next, ...recorded };
    }
  };
  for (const [place, event] of events.entries()) {
    yield { type: 'event', offset: firstOffset + place, ...event };
    if (completesStep(event)) yield* step(next + 1);
  }
  yield* step(steps.length);
}

/** True for the results of the calls of a response, and for a response without calls. */
function completesStep({ content, usage, interrupted, compaction, partial, failed }: Event): boolean {
  if (content.some(({ type }) => type === 'tool_result')) return !partial;
  const isResponse = usage !== undefined && !interrupted && !failed && compaction === undefined;
  return isResponse && !content.some(({ type }) => type === 'tool_call');
}
