import { completesStep } from '../../core/domain/record.ts';
import type { FeedEntry } from './feed-log.ts';
import type { RecordPlace, RecordStretch } from './record-pages.ts';

/** An event or a step of the record. */
export type RecordEntry = Extract<FeedEntry, { type: 'event' | 'step' }>;

/** Returns what is recorded from a place on in its order: each step follows the event that completed it. */
export function recordEntries({ offset, step }: RecordPlace, { events, steps, isLast }: RecordStretch): RecordEntry[] {
  const entries: RecordEntry[] = [];
  let next = 0;
  const takeSteps = (until: number): void => {
    for (; next < Math.min(until, steps.length); next += 1) {
      const taken = steps[next];
      if (taken !== undefined) entries.push({ type: 'step', index: step + next, step: taken });
    }
  };
  for (const [index, event] of events.entries()) {
    entries.push({ type: 'event', offset: offset + index, event });
    if (completesStep(event)) takeSteps(next + 1);
  }
  // Other steps belong to events of the next page.
  if (isLast || events.length === 0) takeSteps(steps.length);
  return entries;
}
