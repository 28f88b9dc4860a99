import { clockMinutes, type QuietHours, type QuietHoursOptions } from '../../src/core/domain/quiet-hours.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { WorkerPart } from '../worker-part.ts';

/**
 * Quiet hours in a worker: the offsets of the zone are pinned for a run. The workflow does not ask `Intl`: its time zones are data of the
 * Node that a worker runs, and the rules of zones change, so that another worker could compute another timer when it replays the run.
 */
export const quietHoursInWorker: WorkerPart = {
  name: 'quietHours',
  pin: ({ agent: { quietHours } }) =>
    quietHours === undefined ? {} : { fields: { quietHours: { ...quietHours, offsets: offsetsOf(quietHours.zone, Date.now()) } } },
};

/** Returns the quiet hours of a document as a run has them. Throws `invalid_program` for a zone that this worker does not know. */
export function pinnedQuietHours({ from, to, zone }: QuietHoursOptions): QuietHours {
  try {
    return { from: clockMinutes(from) ?? 0, to: clockMinutes(to) ?? 0, zone, offsets: offsetsOf(zone, Date.now()) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new LonghaulError('invalid_program', `"quietHours.zone" is ${JSON.stringify(zone)}: write the IANA name of a time zone`);
  }
}

/** Years of a zone that are pinned: about twenty changes. After them, the last offset stays. */
const YEARS = 10;

const MINUTE = 60_000;

/** Less than the time between any two changes of a zone. */
const WEEK = 7 * 24 * 60 * MINUTE;

/** Returns the offsets of a zone from the beginning of a year on, so that runs of one year have equal snapshots. */
export function offsetsOf(zone: string, now: number): QuietHours['offsets'] {
  const offset = offsetReader(zone);
  const year = new Date(now).getUTCFullYear();
  let since = Date.UTC(year, 0, 1);
  let minutes = offset(since);
  const offsets = [{ since, minutes }];
  for (let end = since + WEEK; end < Date.UTC(year + YEARS, 0, 1); end += WEEK) {
    const next = offset(end);
    if (next !== minutes) offsets.push({ since: changeBetween(since, end, offset), minutes: next });
    since = end;
    minutes = next;
  }
  return offsets;
}

/** Returns the minute at which an offset changes that is not the same at both ends. */
function changeBetween(begin: number, end: number, offset: (at: number) => number): number {
  const before = offset(begin);
  let [known, changed] = [begin, end];
  while (changed - known > MINUTE) {
    const middle = known + Math.floor((changed - known) / 2 / MINUTE) * MINUTE;
    if (offset(middle) === before) known = middle;
    else changed = middle;
  }
  return changed;
}

/** Returns a function that returns the minutes by which the zone is ahead of UTC. */
function offsetReader(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const read = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return (Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute')) - at) / MINUTE;
  };
}
