import { LonghaulError, UsageError } from '../core/domain/errors.ts';
import { clockMinutes, type QuietHours, type QuietHoursOptions } from '../core/domain/quiet-hours.ts';
import type { AgentPart } from './agent-part.ts';
import { requireKnown } from './option-checks.ts';

export type { QuietHoursOptions } from '../core/domain/quiet-hours.ts';

/** The agent option for quiet hours. */
export interface AgentQuietHours {
  /** The hours in which calls of tools of the category `communicate` wait: they start when these hours end. Default: none. */
  quietHours?: QuietHoursOptions;
}

/** The agent field that holds its quiet hours. */
export interface QuietHoursFields {
  /** Its quiet hours, without the offsets of the zone, which are pinned for each run. Absent: none. */
  readonly quietHours?: Omit<QuietHours, 'offsets'>;
}

/**
 * Quiet hours as a part of an agent. The offsets of the zone are pinned for a run. The workflow does not ask `Intl`: its time zone data
 * comes with the worker's version of Node, and zone rules change, so another worker could compute a different timer in a replay.
 */
export const quietHoursPart: AgentPart<AgentQuietHours, QuietHoursFields> = {
  options: {
    quietHours: [
      '`{ from, to, zone }`',
      'none',
      'hours in which calls of tools of the category `communicate` [wait](tools.md#quiet-hours)',
    ],
  },
  define: (owner, { quietHours }) => (quietHours === undefined ? {} : { quietHours: checked(`${owner}: "quietHours`, quietHours) }),
  pin: ({ quietHours }, now) =>
    quietHours === undefined ? {} : { quietHours: { ...quietHours, offsets: offsetsOf(quietHours.zone, now) } },
};

/** `what` is the owner and the opened name of the option. */
function checked(what: string, options: unknown): Omit<QuietHours, 'offsets'> {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError(`${what}" is ${JSON.stringify(options)}: write { from: "22:00", to: "07:00", zone: "Europe/Berlin" }`);
  const { from, to, zone } = options as Partial<Record<keyof QuietHoursOptions, unknown>>;
  requireKnown(`${what}"`, options as QuietHoursOptions, { from: true, to: true, zone: true });
  const hours = { from: minutesOf(`${what}.from"`, from), to: minutesOf(`${what}.to"`, to), zone: zoneOf(`${what}.zone"`, zone) };
  if (hours.from === hours.to)
    throw new UsageError(`${what}" begin and end at "${String(from)}": write two times, or leave "quietHours" out`);
  return hours;
}

function minutesOf(what: string, value: unknown): number {
  const minutes = typeof value === 'string' ? clockMinutes(value) : undefined;
  if (minutes === undefined) throw new UsageError(`${what} is ${describeValue(value)}: write a time from "00:00" to "23:59"`);
  return minutes;
}

function zoneOf(what: string, value: unknown): string {
  if (typeof value === 'string' && isZone(value)) return value;
  throw new UsageError(`${what} is ${describeValue(value)}: write the IANA name of a time zone, such as "Europe/Berlin"`);
}

function isZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function describeValue(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}

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

/** Returns the minute in the interval at which the offset changes. The offsets at both ends must differ. */
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

/** Returns a function that returns how many minutes the zone is ahead of UTC. */
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
