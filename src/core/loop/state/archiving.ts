// Shared state: events that the archive has or lacks.

import { cutText, newest } from '../../domain/byte-budgets.ts';
import type { EventRange, NotArchived } from '../../domain/run.ts';
import type { RunResultFields } from '../../domain/result.ts';
import type { RunState } from './run-state.ts';
import { isoTime } from '../../domain/time.ts';

/**
 * The most ranges of missing events that a run keeps, and their bytes of JSON, because they are carried over. Adjacent ranges are
 * joined, so that an archive that always fails leaves a single one.
 */
const KEPT = { count: 50, bytes: 3_500 };

/** Bytes of JSON of the message of a range. */
const MESSAGE_BYTES = 200;

/** Notes that the archive begins to store events. `now` is in milliseconds since the epoch. */
export function beginArchiving(state: RunState, { from, through }: EventRange, now: number): void {
  state.archiving = { from, through, since: isoTime(now) };
}

/** Notes that the archive has stored the events, or that it has not because of `failure`. */
export function endArchiving(state: RunState, failure?: string): void {
  const { archiving, notArchived = [] } = state;
  delete state.archiving;
  if (archiving === undefined) return;
  const { from, through } = archiving;
  if (failure === undefined) {
    const left = notArchived.flatMap((range) => outside(range, from));
    if (left.length === 0) delete state.notArchived;
    else state.notArchived = left;
    return;
  }
  if (from === through) return;
  state.notArchived = newest(joined(notArchived, { from, through, message: cutText(failure, MESSAGE_BYTES) }), KEPT);
}

/** Returns the part of a range before an offset from which on the archive has everything. */
function outside(range: NotArchived, from: number): NotArchived[] {
  if (range.through <= from) return [range];
  return range.from < from ? [{ ...range, through: from }] : [];
}

/** Adds the events that are not in the archive to a result. They are known only after the last events were stored. */
export function withNotArchived(result: RunResultFields, state: RunState | undefined): RunResultFields {
  return state?.notArchived === undefined ? result : { ...result, notArchived: state.notArchived };
}

function joined(ranges: readonly NotArchived[], next: NotArchived): NotArchived[] {
  const last = ranges.at(-1);
  if (last === undefined || last.through < next.from) return [...ranges, next];
  return [...ranges.slice(0, -1), { ...next, from: Math.min(last.from, next.from) }];
}
