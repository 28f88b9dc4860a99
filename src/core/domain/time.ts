import { UsageError } from './errors.ts';

/** Caches the last formatted time: everything in one workflow task has the same time. */
let written = { at: Number.NaN, text: '' };

/** Formats a time of the workflow's clock, in milliseconds since the epoch, as ISO 8601 in UTC. */
export function isoTime(ms: number): string {
  if (written.at !== ms) written = { at: ms, text: new Date(ms).toISOString() };
  return written.text;
}

/** Returns an ISO 8601 time in seconds since the epoch. */
export function secondsOf(time: string): number {
  return Date.parse(time) / 1000;
}

/** Returns the seconds between two ISO 8601 times. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

/** The latest end of a wait. */
export interface WaitDeadline {
  /** Milliseconds since the epoch. */
  at: number;
  /** The summary of the timer in the Temporal UI. */
  summary: string;
}

/** A time span: milliseconds, or text such as `500ms`, `30s`, `5m`, `1.5h`, `2d`. @useDeclaredType */
export type Duration = number | `${number}${keyof typeof UNITS}`;

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The maximum time that Temporal supports, 10,000 years, in milliseconds: a longer one would fail the workflow task forever. */
export const MAX_DURATION_MS = 315_576_000_000_000;

/** The maximum time of a process timer, in milliseconds: almost 25 days. A longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** The bounds of a duration, in milliseconds. */
interface DurationBounds {
  /** Default 1. */
  least?: number;
  /** Default: the maximum time that Temporal supports. */
  most?: number;
}

/** Converts a duration to milliseconds. Throws a UsageError that begins with `owner` if it is not a duration or out of bounds. */
export function milliseconds(duration: Duration, owner: string, { least = 1, most = MAX_DURATION_MS }: DurationBounds = {}): number {
  const amount = typeof duration === 'number' ? duration : parsedMilliseconds(duration);
  if (!Number.isFinite(amount) || amount < least) {
    throw new UsageError(
      `${owner} is ${durationText(duration)}: write milliseconds (at least ${least}), or a text such as "30s", "5m", "1h"`,
    );
  }
  if (amount <= most) return Math.round(amount);
  const days = Math.floor(most / UNITS.d);
  throw new UsageError(`${owner} is ${durationText(duration)}: write at most ${most} milliseconds ("${days}d")`);
}

/** Converts a duration for a timer of the process, which has a lower maximum. */
export function timerMilliseconds(duration: Duration, owner: string, { least = 1 }: Pick<DurationBounds, 'least'> = {}): number {
  return milliseconds(duration, owner, { least, most: MAX_TIMER_MS });
}

function parsedMilliseconds(text: unknown): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(text)) ?? [];
  return isUnit(unit) ? Number(number) * UNITS[unit] : Number.NaN;
}

function isUnit(text: string): text is keyof typeof UNITS {
  return Object.hasOwn(UNITS, text);
}

function durationText(duration: Duration): string {
  return typeof duration === 'number' ? String(duration) : valueText(duration);
}

/** Formats a value of any type, because JavaScript callers are not bound to `Duration`. */
function valueText(value: unknown): string {
  return typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
}

/** Converts seconds to milliseconds, rounded to two digits. */
export function roundedMs(seconds: number): number {
  return Math.round(seconds * 100_000) / 100;
}
