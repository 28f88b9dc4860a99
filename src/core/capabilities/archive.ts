import { cutText, jsonBytes, newest } from '../domain/byte-budgets.ts';
import { defined } from '../domain/json.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { Archiving, EventRange, NotArchived } from '../domain/run.ts';
import { anyObject, listOf } from '../domain/shape.ts';
import { isoTime } from '../domain/time.ts';
import type { Capability } from '../kernel/capability.ts';
import { type RunState, slice, type WithSlices } from '../kernel/run-state.ts';

// Capability: the events that the archive has or lacks. It stores them between the end of the loop and the end of an execution.

/** The events that the archive is storing. */
const storing = slice<Archiving>('archiving', anyObject<Archiving>(), { isPassing: true });

/** The newest ranges of events that are not in the archive, oldest first. */
const missing = slice<NotArchived[]>('notArchived', listOf(anyObject<NotArchived>()), { bytes: jsonBytes });

/**
 * The maximum number of missing ranges that a run keeps, and their maximum bytes of JSON: they are carried over. Adjacent ranges are
 * joined, so that an archive that always fails leaves a single range.
 */
const KEPT = { count: 50, bytes: 3_500 };

/** The maximum bytes of JSON of a range's message. */
const MESSAGE_BYTES = 200;

/** The events that the archive is storing, and those that it lacks. */
interface ArchiveProgress {
  archiving?: Archiving;
  notArchived?: NotArchived[];
}

/** Returns the archive's progress. */
export function archiveProgress(run: WithSlices): ArchiveProgress {
  return defined({ archiving: storing.of(run), notArchived: missing.of(run) });
}

/** Records that the archive begins to store events. `now` is in milliseconds since the epoch. */
export function beginArchiving(state: RunState, { from, through }: EventRange, now: number): void {
  storing.set(state, { from, through, since: isoTime(now) });
}

/** Records that the archive has stored the events, or that it failed with `failure`. */
export function endArchiving(state: RunState, failure?: string): void {
  const stored = storing.of(state);
  const ranges = missing.of(state) ?? [];
  storing.clear(state);
  if (stored === undefined) return;
  const { from, through } = stored;
  if (failure === undefined) {
    const left = ranges.flatMap((range) => rangeBefore(range, from));
    if (left.length === 0) missing.clear(state);
    else missing.set(state, left);
    return;
  }
  if (from === through) return;
  missing.set(state, newest(joinRanges(ranges, { from, through, message: cutText(failure, MESSAGE_BYTES) }), KEPT));
}

/** Returns the part of a range before an offset from which the archive is complete. */
function rangeBefore(range: NotArchived, from: number): NotArchived[] {
  if (range.through <= from) return [range];
  return range.from < from ? [{ ...range, through: from }] : [];
}

/** Adds the ranges of unarchived events to a result. They are known only after the last events were stored. */
export function withNotArchived(result: RunResultFields, state: RunState | undefined): RunResultFields {
  const notArchived = state && missing.of(state);
  return notArchived === undefined ? result : { ...result, notArchived };
}

function joinRanges(ranges: readonly NotArchived[], next: NotArchived): NotArchived[] {
  const last = ranges.at(-1);
  if (last === undefined || last.through < next.from) return [...ranges, next];
  return [...ranges.slice(0, -1), { ...next, from: Math.min(last.from, next.from) }];
}

export const archive: Capability = { name: 'archive', slices: [storing, missing], statusParts: archiveProgress };
