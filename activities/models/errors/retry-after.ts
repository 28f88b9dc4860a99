/** What a refusal says about the time of the next request. */
export interface Refusal {
  headers: Headers | undefined;
  /** The message of the error, cut for expressions. */
  message: string;
  /** The seconds that the body asks for. */
  waitSeconds: number | undefined;
}

/**
 * Returns the wait in milliseconds that a provider asks for, by what is most certain: `retry-after-ms`, `retry-after` in seconds or as
 * a date, the body, the message ("try again in 12.3s"), the headers of a limit that is reached. Undefined for none, and for a time
 * that is past, zero or no number: a wait of zero would replace the back-off.
 */
export function askedWaitMs({ headers, message, waitSeconds }: Refusal, now: number): number | undefined {
  return (
    inMs(headers?.get('retry-after-ms'), 1) ??
    inMs(headers?.get('retry-after'), 1_000) ??
    untilDate(headers?.get('retry-after'), now) ??
    whole((waitSeconds ?? 0) * 1_000) ??
    waitInText(message) ??
    untilReset(headers, now)
  );
}

function inMs(value: string | null | undefined, factor: number): number | undefined {
  return value === null || value === undefined || value.trim() === '' ? undefined : whole(Number(value) * factor);
}

function whole(ms: number): number | undefined {
  const rounded = Math.ceil(ms);
  return Number.isSafeInteger(rounded) && rounded > 0 ? rounded : undefined;
}

function untilDate(value: string | null | undefined, now: number): number | undefined {
  // `Date.parse` reads "5" or "-1" as a year or a month: only a value with the name of a weekday or a month, or of ISO 8601, is a date here.
  const isDate = value !== null && value !== undefined && value.length < 50 && (/[a-z]{3}/i.test(value) || /^\d{4}-\d\d-\d\dT/.test(value));
  return isDate ? whole(Date.parse(value) - now) : undefined;
}

const UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milli)/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];

/** A number with its unit. */
const AMOUNT = /(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])/gi;

/** "Please try again in 1m12.5s", "wait 20 seconds", "retry after 59 seconds". */
const ASKED_IN_TEXT = /\b(?:try again|retry|retrying|wait|available)\b[a-z ]{0,30}(?=\d)/i;

function waitInText(message: string): number | undefined {
  const asked = ASKED_IN_TEXT.exec(message);
  if (asked === null) return undefined;
  return durationMs(message.slice(asked.index + asked[0].length, asked.index + asked[0].length + 60));
}

/** Reads amounts that follow one another at the beginning of a text: `6m0s`, `20ms`, `1 minute 5 seconds`. */
function durationMs(text: string): number | undefined {
  let total = 0;
  let end = 0;
  for (const { index, 0: found, 1: amount = '', 2: unit = '' } of text.matchAll(AMOUNT)) {
    if (!/^[\s,]{0,2}(?:and )?$/.test(text.slice(end, index))) break;
    total += Number(amount) * (UNITS_MS.find(([name]) => name.test(unit))?.[1] ?? 0);
    end = index + found.length;
  }
  return whole(total);
}

/** The beginnings of headers about limits: OpenAI and servers like it, Anthropic, the draft of the IETF. */
const LIMIT_HEADER = /^(?:x-|anthropic-)?rate-?limit-([a-z-]{0,40})$/;

/**
 * Returns the time until a limit is reset, by the headers of the limits with nothing left. If none says so, the nearest reset
 * is taken: one of the limits was reached.
 */
function untilReset(headers: Headers | undefined, now: number): number | undefined {
  const resets: { ms: number; isReached: boolean }[] = [];
  for (const [name, value] of headers ?? []) {
    const [, rest] = LIMIT_HEADER.exec(name) ?? [];
    if (rest?.includes('reset') !== true) continue;
    const ms = resetMs(value, now);
    const left = headers?.get(name.replace('reset', 'remaining'));
    if (ms !== undefined) resets.push({ ms, isReached: left === '0' });
  }
  const reached = resets.filter(({ isReached }) => isReached).map(({ ms }) => ms);
  if (reached.length > 0) return Math.max(...reached);
  return resets.length === 0 ? undefined : Math.min(...resets.map(({ ms }) => ms));
}

/** From these numbers on, a number is a time and not a wait: in seconds, in milliseconds since 1970. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e12;

function resetMs(value: string, now: number): number | undefined {
  if (value.length > 50) return undefined;
  const number = value.trim() === '' ? NaN : Number(value);
  if (Number.isNaN(number)) return untilDate(value, now) ?? durationMs(value);
  if (number >= EPOCH_MS) return whole(number - now);
  return number >= EPOCH_S ? whole(number * 1_000 - now) : whole(number * 1_000);
}
